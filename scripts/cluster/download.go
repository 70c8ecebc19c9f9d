package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/sync/errgroup"
	"golang.org/x/term"
)

// mirror returns the URL that WORKBOOK_DOWNLOAD gives in place of all hosts, or nil.
func mirror() (*url.URL, error) {
	value := os.Getenv("WORKBOOK_DOWNLOAD")
	if value == "" || value == "off" {
		return nil, nil
	}
	mirror, err := url.Parse(value)
	if err != nil || mirror.Scheme != "https" || mirror.Host == "" { // not shown: it may have a password
		return nil, message("WORKBOOK_DOWNLOAD is not an https URL: set it to a mirror's, or to off, or unset it.")
	}
	return mirror, nil
}

// published is a file with one program, which is named as the file, or the file is an archive.
type published struct {
	webFile
	program string
}

// published returns those of the wanted programs that are not here yet. kwok is published without checksums, so it is not among
// them: it is built, from what go.sum pins.
func (p programs) published(mirror *url.URL, wanted []string) (files []published) {
	add := func(program, host, file, sums string) {
		base := mirror
		if base == nil {
			base = &url.URL{Scheme: "https", Host: host}
		}
		partial := filepath.Join(p.downloadFolder(), partialPrefix+path.Base(file))
		if !has(p.downloadFolder(), program) {
			files = append(files, published{webFile{url: base.JoinPath(file), sums: base.JoinPath(sums), partial: partial}, program})
		}
	}
	names := []string{"kubectl"}
	if slices.Contains(wanted, clusterPackage) {
		names = append(names, "kube-apiserver", "kube-controller-manager", "kube-scheduler")
	}
	for _, name := range names {
		file := p.version() + "/bin/" + p.system + "/" + name
		add(name, "dl.k8s.io", file, file+".sha256")
	}
	if len(names) > 1 {
		etcd := requires(p.module())["go.etcd.io/etcd/server/v3"]
		release := "etcd-io/etcd/releases/download/" + etcd + "/"
		archive := fmt.Sprintf("etcd-%s-%s.tar.gz", etcd, strings.ReplaceAll(p.system, "/", "-"))
		add("etcd", "github.com", release+archive, release+"SHA256SUMS")
	}
	return files
}

// download downloads the wanted programs, and reports whether it could. Otherwise they are to be built, and it says why.
func (p programs) download(ctx context.Context, wanted []string) (done bool, err error) {
	switch choice := os.Getenv("WORKBOOK_DOWNLOAD"); {
	case choice == "off":
		return false, nil
	case slices.Contains(wanted, clusterPackage) && p.system != "linux/amd64" && p.system != "linux/arm64":
		if choice != "" {
			say("WORKBOOK_DOWNLOAD is of no use here: for %s, Kubernetes' servers are not published.", p.system)
		}
		return false, nil
	}
	mirror, err := mirror()
	if err != nil {
		return false, err
	}
	err = p.downloadAll(ctx, p.published(mirror, wanted))
	var file *fs.PathError
	var advice message
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case errors.As(err, &advice), errors.As(err, &file) && strings.HasPrefix(file.Path, p.cache):
		return false, err // a build would not get further
	case err != nil:
		say("Kubernetes %s is built, not downloaded: %v. If there is a proxy, set HTTPS_PROXY; if a mirror, WORKBOOK_DOWNLOAD=URL.",
			p.version(), err)
		return false, nil
	}
	if missing := p.missing(p.downloadFolder(), kwokPackages); slices.Contains(wanted, clusterPackage) && len(missing) > 0 {
		say("Building kwok %s, which is published without checksums.", requires(p.module())["sigs.k8s.io/kwok"])
		return true, p.goBuild(ctx, p.downloadFolder(), missing)
	}
	return true, nil
}

func (p programs) downloadAll(ctx context.Context, files []published) error {
	if len(files) == 0 {
		return nil
	}
	if err := os.MkdirAll(p.downloadFolder(), 0o700); err != nil {
		return err
	}
	if err := p.web.checksum(ctx, &files[0].webFile, p.web.first); err != nil { // one alone
		return err
	}
	err := each(ctx, files, func(ctx context.Context, f *published) error {
		return p.web.retry(ctx, func() error {
			if err := p.web.length(ctx, &f.webFile); err != nil || f.sum != "" {
				return err
			}
			return p.web.checksum(ctx, &f.webFile, p.web.stall)
		})
	})
	if err != nil {
		return err
	}
	var size, here int64
	for _, f := range files {
		size += f.size
		if info, err := os.Stat(f.partial); err == nil {
			here += min(info.Size(), f.size)
		}
	}
	free, err := free(p.downloadFolder())
	if err != nil {
		return err
	}
	if free < uint64(size-here) {
		return messagef("Downloading Kubernetes takes %d MB of disk, and %s has %d. Free some.", (size-here)>>20, p.cache, free>>20)
	}
	start := time.Now()
	say("Downloading Kubernetes %s (%d MB) into %s, once.", p.version(), (size-here)>>20, p.downloadFolder())
	bar := progressbar.NewOptions64(size, progressbar.OptionSetWriter(os.Stderr), progressbar.OptionSetDescription("Downloading"),
		progressbar.OptionShowBytes(true), progressbar.OptionThrottle(500*time.Millisecond), progressbar.OptionClearOnFinish(),
		progressbar.OptionSetVisibility(term.IsTerminal(int(os.Stderr.Fd()))))
	bar.Add64(here)
	err = each(ctx, files, func(ctx context.Context, f *published) error {
		file, err := p.web.get(ctx, f.webFile, func(bytes int64) { bar.Add64(bytes) })
		if err != nil {
			return err
		}
		defer file.Close()
		return p.place(f, file)
	})
	bar.Finish()
	if err == nil {
		say("Downloaded in %s.", minutes(time.Since(start)))
	}
	return err
}

// each handles all files at the same time. The first error ends it.
func each(ctx context.Context, files []published, do func(context.Context, *published) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for i := range files {
		group.Go(func() error { return do(ctx, &files[i]) })
	}
	return group.Wait()
}

// place puts the program into its place. The file is whole and right.
func (p programs) place(f *published, file *os.File) (err error) {
	if path.Base(f.url.Path) != f.program {
		archive := file
		defer func() {
			if err == nil {
				os.Remove(f.partial)
			}
		}()
		if file, err = os.Create(filepath.Join(p.downloadFolder(), partialPrefix+f.program)); err != nil {
			return err
		}
		defer file.Close()
		if err := unpack(archive, f.program, file); err != nil {
			return err
		}
	}
	if err := errors.Join(file.Chmod(0o700), file.Sync()); err != nil {
		return err
	}
	return os.Rename(file.Name(), filepath.Join(p.downloadFolder(), f.program))
}

// unpack takes a program out of an archive.
func unpack(archive io.ReadSeeker, program string, to io.Writer) error {
	if _, err := archive.Seek(0, io.SeekStart); err != nil {
		return err
	}
	unzipped, err := gzip.NewReader(archive)
	if err != nil {
		return err
	}
	for entries := tar.NewReader(unzipped); ; {
		switch entry, err := entries.Next(); {
		case err != nil:
			return fmt.Errorf("%s is not in its archive: %w", program, err)
		case path.Base(entry.Name) == program && entry.Typeflag == tar.TypeReg:
			_, err := io.Copy(to, entries)
			return err
		}
	}
}
