package program

import (
	"context"

	"k8s.io/klog/v2"
)

// bodyLevel is the verbosity at which client-go begins to log the bodies of requests and responses.
const bodyLevel = 8

// WithoutBodies returns a context for requests whose bodies client-go must not log at any -v: for a program that writes
// passwords. Methods, addresses and headers are still logged.
func WithoutBodies(ctx context.Context) context.Context {
	logger := klog.FromContext(ctx)
	return klog.NewContext(ctx, logger.WithSink(bodiless{logger.GetSink()}))
}

type bodiless struct{ klog.LogSink }

func (b bodiless) Enabled(level int) bool { return level < bodyLevel && b.LogSink.Enabled(level) }

func (b bodiless) WithValues(keysAndValues ...any) klog.LogSink {
	return bodiless{b.LogSink.WithValues(keysAndValues...)}
}

func (b bodiless) WithName(name string) klog.LogSink { return bodiless{b.LogSink.WithName(name)} }
