package browser

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"flag"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

var update = flag.Bool("update-pictures", false, "take the pictures of the READMEs anew")

// maxPicture is the largest that a picture of a README may be, in bytes.
const maxPicture = 100_000

// Illustrate keeps the picture of a chapter's README up to date: what can be seen of the page, without the part below height. It fails
// if the file was made with other sources of the page. Two pictures of the same sources differ, so with the flag -update-pictures only
// the file is made anew.
func (p *Page) Illustrate(t testing.TB, chapter string, height int) {
	t.Helper()
	root := testcluster.Root(t)
	file, made := filepath.Join(root, chapter, "picture.png"), hashOf(t, filepath.Join(root, "internal", "picture", "page"))
	if *update {
		shown := testkit.Must(png.Decode(bytes.NewReader(p.Picture(t))))(t)
		width := shown.Bounds().Dx()
		small := image.NewPaletted(image.Rect(0, 0, width, height), palette(shown))
		for y := range height {
			for x := range width {
				small.Set(x, y, shown.At(x, y))
			}
		}
		var b bytes.Buffer
		if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, small); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, withText(b.Bytes(), "sources\x00"+made), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	content, err := os.ReadFile(file)
	switch {
	case err != nil:
		t.Error(err)
	case !bytes.Contains(content, []byte("sources\x00"+made)):
		t.Errorf("%s shows an older page: run this test with -update-pictures", file)
	case len(content) > maxPicture:
		t.Errorf("%s has %d bytes: %d are allowed", file, len(content), maxPicture)
	}
}

// hashOf returns a hash of the files in a folder.
func hashOf(t testing.TB, folder string) string {
	t.Helper()
	hash := sha256.New()
	for _, file := range testkit.Must(filepath.Glob(filepath.Join(folder, "*")))(t) {
		hash.Write(testkit.Must(os.ReadFile(file))(t))
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// palette returns the 256 most frequent colors of a picture.
func palette(shown image.Image) color.Palette {
	counts := map[color.Color]int{}
	for y := range shown.Bounds().Dy() {
		for x := range shown.Bounds().Dx() {
			counts[shown.At(x, y)]++
		}
	}
	var colors color.Palette
	for len(colors) < 256 && len(counts) > 0 {
		var most color.Color
		for c, count := range counts {
			if most == nil || count > counts[most] {
				most = c
			}
		}
		colors = append(colors, most)
		delete(counts, most)
	}
	return colors
}

// withText returns a PNG with a chunk of text behind its first chunk, which has 8+25 bytes.
func withText(png []byte, text string) []byte {
	chunk := append([]byte("tEXt"), text...)
	var b bytes.Buffer
	b.Write(png[:33])
	_ = binary.Write(&b, binary.BigEndian, uint32(len(text))) // a Buffer takes all
	b.Write(chunk)
	_ = binary.Write(&b, binary.BigEndian, crc32.ChecksumIEEE(chunk))
	b.Write(png[33:])
	return b.Bytes()
}
