package memory

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// A file of sections is what a catalog image consists of: each section is its length
// in 8 bytes, the CRC-32C of its bytes in 4, and its bytes.

// errSection is a section that is not what was written.
var errSection = errors.New("damaged or cut short")

const sectionHead = 12

// SectionWriter writes sections one after the other.
type SectionWriter struct{ w *bufio.Writer }

func newSectionWriter(w io.Writer) *SectionWriter {
	return &SectionWriter{bufio.NewWriterSize(w, 1<<16)}
}

// Put writes one section.
func (w *SectionWriter) Put(p []byte) error {
	var head [sectionHead]byte
	binary.LittleEndian.PutUint64(head[:], uint64(len(p)))
	binary.LittleEndian.PutUint32(head[8:], crc32.Checksum(p, crc32.MakeTable(crc32.Castagnoli)))
	if _, err := w.w.Write(head[:]); err != nil {
		return err
	}
	_, err := w.w.Write(p)
	return err
}

func (w *SectionWriter) flush() error { return w.w.Flush() }

// SectionReader reads them back.
type SectionReader struct {
	r    io.Reader
	left int64 // bytes of the file that have not been read
}

// Next reads one section into what alloc gives for its length; nil from alloc means
// that no section of that length belongs there. Inv: no more is asked of alloc than
// the file has.
func (r *SectionReader) Next(alloc func(size int) []byte) ([]byte, error) {
	var head [sectionHead]byte
	if _, err := io.ReadFull(r.r, head[:]); err != nil {
		return nil, fmt.Errorf("%w: %w", errSection, err)
	}
	r.left -= sectionHead
	size := binary.LittleEndian.Uint64(head[:])
	if size > uint64(max(r.left, 0)) {
		return nil, errSection
	}
	p := alloc(int(size))
	if p == nil {
		return nil, errSection
	}
	p = p[:size]
	if _, err := io.ReadFull(r.r, p); err != nil {
		return nil, fmt.Errorf("%w: %w", errSection, err)
	}
	r.left -= int64(size)
	if crc32.Checksum(p, crc32.MakeTable(crc32.Castagnoli)) != binary.LittleEndian.Uint32(head[8:]) {
		return nil, errSection
	}
	return p, nil
}

func plainSection(size int) []byte { return make([]byte, size) }
