package main

import "context"

func drift(context.Context, *World) error     { return nil }
func crash(context.Context, *World) error     { return nil }
func ambiguity(context.Context, *World) error { return nil }
func end(context.Context, *World) error       { return nil }
func leaders(context.Context, *World) error   { return nil }
