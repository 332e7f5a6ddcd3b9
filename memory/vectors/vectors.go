// Package vectors keeps, in the state directory of a person, the vectors that an
// embedding model made of memories: one file a root and model. A file holds no text
// and no name; what it holds of a memory goes when the memory does.
//
// A file is replaced in one step and carries a checksum. What is damaged, of another
// version, root or model is not used: vectors can be made again.
package vectors

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

const (
	magic   = "MEMLSVEC"
	version = 1

	prefix   = "vectors-"
	suffix   = ".bin"
	lockName = "vectors.lock"

	// maxModels bounds the files of a root: that of the model in use and the ones
	// before it, for whoever tries two models in turn.
	maxModels = 3
	// maxBytes bounds a file that is read.
	maxBytes  = 4 << 30
	maxHeader = 1 << 20

	lockWait = 5 * time.Second
	lockPoll = 5 * time.Millisecond
)

// Key names the text that a vector was made of.
type Key [16]byte

// Row is one vector: its direction in 8 bits a number.
type Row struct {
	Key     Key
	File    uint64  // of the memory; see [FileOf]
	Inverse float32 // 1 / the length of Numbers
	Numbers []int8
}

// FileOf stands for the file that a ref names.
func FileOf(ref string) uint64 {
	_, path, _ := strings.Cut(ref, ":")
	path, _, _ = strings.Cut(path, "#")
	sum := sha256.Sum256([]byte(path))
	return binary.LittleEndian.Uint64(sum[:])
}

// File is what is kept of one root for one model.
type File struct {
	Root, Model string
	Dimension   int
	// Sample are quantiles of the similarities of unrelated texts of this root, and
	// Sampled how many memories it had then.
	Sample  []float32
	Sampled int
	// Reference are the same of built-in texts.
	Reference []float32
	Rows      []Row // all of Dimension numbers
}

// header is the part of a file that is read first.
type header struct {
	Root      string    `json:"root"`
	Model     string    `json:"model"`
	Dimension int       `json:"dimension"`
	Rows      int       `json:"rows"`
	Sample    []float32 `json:"sample,omitempty"`
	Sampled   int       `json:"sampled,omitempty"`
	Reference []float32 `json:"reference,omitempty"`
}

// Store are the files of one person. Its methods may be called from any goroutine.
type Store struct{ dir string }

// Open makes a store over a state directory. It touches no file.
func Open(state string) *Store { return &Store{state} }

func (s *Store) folder(root string) (string, error) {
	if _, err := hex.DecodeString(root); err != nil || root == "" {
		return "", fmt.Errorf("%.20q is no id of a root", root)
	}
	return filepath.Join(s.dir, root), nil
}

func name(model string) string {
	sum := sha256.Sum256([]byte(model))
	return prefix + hex.EncodeToString(sum[:8]) + suffix
}

// DamagedError is a file that is not used.
type DamagedError struct {
	Path, Problem string
}

func (e *DamagedError) Error() string {
	return "stored vectors " + e.Path + ": " + e.Problem + "; they are made anew"
}

// Load reads the file of a root and a model. The error is [fs.ErrNotExist] when there
// is none, and a [*DamagedError] when it cannot be used.
func (s *Store) Load(root, model string) (*File, error) {
	dir, err := s.folder(root)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, name(model))
	raw, err := read(path)
	if err != nil {
		return nil, err
	}
	f, err := decode(raw)
	switch {
	case err != nil:
		return nil, &DamagedError{path, err.Error()}
	case f.Root != root:
		return nil, &DamagedError{path, "they belong to another folder of memories"}
	case f.Model != model:
		return nil, &DamagedError{path, "they are those of another model"}
	}
	return f, nil
}

func read(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("look at stored vectors: %w", err)
	case !info.Mode().IsRegular() || info.Size() > maxBytes:
		return nil, &DamagedError{path, "no regular file, or a very large one"}
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read stored vectors: %w", err)
	}
	return raw, nil
}

// Save replaces the file of a root and a model; without rows it is removed. Of other
// models the files that were used last are kept.
func (s *Store) Save(ctx context.Context, f *File) error {
	dir, err := s.folder(f.Root)
	if err != nil {
		return err
	}
	if len(f.Rows) == 0 {
		if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	return locked(ctx, dir, func() error {
		path := filepath.Join(dir, name(f.Model))
		if len(f.Rows) == 0 {
			return remove(path)
		}
		if err := replace(path, f); err != nil {
			return err
		}
		return prune(dir)
	})
}

// Forget takes what is kept of the files that refs name out of a root, whatever the
// model. What cannot be read cannot be searched, and is removed.
func (s *Store) Forget(ctx context.Context, root string, refs []string) error {
	dir, err := s.folder(root)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	files, err := list(dir)
	if err != nil || len(files) == 0 {
		return err
	}
	gone := map[uint64]bool{}
	for _, ref := range refs {
		gone[FileOf(ref)] = true
	}
	return locked(ctx, dir, func() error {
		for _, name := range files {
			if err := forget(filepath.Join(dir, name), gone); err != nil {
				return err
			}
		}
		return nil
	})
}

func forget(path string, gone map[uint64]bool) error {
	raw, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	f, bad := decode(raw)
	if err != nil || bad != nil {
		return remove(path)
	}
	n := len(f.Rows)
	f.Rows = slices.DeleteFunc(f.Rows, func(r Row) bool { return gone[r.File] })
	switch len(f.Rows) {
	case n:
		return nil
	case 0:
		return remove(path)
	}
	return replace(path, f)
}

// list are the names of the files of vectors in a directory, and of what a process
// that was killed left of one.
func list(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list stored vectors: %w", err)
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// prune removes what was used the longest time ago, and what killed processes left.
// Inv: the lock is held, so that nobody is writing.
func prune(dir string) error {
	names, err := list(dir)
	if err != nil {
		return err
	}
	type aged struct {
		path string
		at   time.Time
	}
	var kept []aged
	for _, n := range names {
		path := filepath.Join(dir, n)
		info, err := os.Lstat(path)
		switch {
		case err != nil:
		case !strings.HasSuffix(n, suffix):
			if err := remove(path); err != nil {
				return err
			}
		default:
			kept = append(kept, aged{path, info.ModTime()})
		}
	}
	slices.SortFunc(kept, func(a, b aged) int { return b.at.Compare(a.at) })
	for _, old := range kept[min(len(kept), maxModels):] {
		if err := remove(old.path); err != nil {
			return err
		}
	}
	return nil
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove stored vectors: %w", err)
	}
	return nil
}

// replace writes a file in one step.
func replace(path string, f *File) error {
	raw, err := encode(f)
	if err != nil {
		return err
	}
	return write(path, raw)
}

// write replaces a file by bytes, in one step.
func write(path string, raw []byte) error {
	temp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // 0600
	if err != nil {
		return fmt.Errorf("store vectors: %w", err)
	}
	_, err = temp.Write(raw)
	if err == nil {
		err = temp.Sync()
	}
	err = errors.Join(err, temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("store vectors: %w", errors.Join(err, os.Remove(temp.Name())))
	}
	return nil
}

// locked runs work in a directory of which it is the only writer.
func locked(ctx context.Context, dir string, work func() error) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make a directory for vectors: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	lock := flock.New(filepath.Join(dir, lockName), flock.SetPermissions(0o600))
	if ok, err := lock.TryLockContext(ctx, lockPoll); err != nil || !ok {
		return fmt.Errorf("lock the vectors in %s: %w", dir, err)
	}
	return errors.Join(work(), lock.Unlock())
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// rowBytes is what a vector takes in a file.
func rowBytes(dimension int) int { return len(Key{}) + 8 + 4 + dimension }

// encode writes: magic, version, length of the header, header, rows, checksum of all
// before it. Numbers are little-endian.
func encode(f *File) ([]byte, error) {
	head, err := json.Marshal(header{f.Root, f.Model, f.Dimension, len(f.Rows), f.Sample, f.Sampled, f.Reference})
	if err != nil {
		return nil, fmt.Errorf("store vectors: %w", err)
	}
	out := make([]byte, 0, len(magic)+8+len(head)+len(f.Rows)*rowBytes(f.Dimension)+4)
	out = append(out, magic...)
	out = binary.LittleEndian.AppendUint32(out, version)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(head)))
	out = append(out, head...)
	for i := range f.Rows {
		r := &f.Rows[i]
		if len(r.Numbers) != f.Dimension {
			return nil, fmt.Errorf("store vectors: one of %d numbers among those of %d", len(r.Numbers), f.Dimension)
		}
		out = append(out, r.Key[:]...)
		out = binary.LittleEndian.AppendUint64(out, r.File)
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(r.Inverse))
		for _, n := range r.Numbers {
			out = append(out, byte(n))
		}
	}
	return binary.LittleEndian.AppendUint32(out, crc32.Checksum(out, castagnoli)), nil
}

func decode(raw []byte) (*File, error) {
	if len(raw) < len(magic)+12 || !bytes.HasPrefix(raw, []byte(magic)) {
		return nil, errors.New("no file of vectors")
	}
	body, sum := raw[:len(raw)-4], binary.LittleEndian.Uint32(raw[len(raw)-4:])
	if crc32.Checksum(body, castagnoli) != sum {
		return nil, errors.New("damaged")
	}
	body = body[len(magic):]
	if v := binary.LittleEndian.Uint32(body); v != version {
		return nil, fmt.Errorf("of version %d", v)
	}
	n := int(binary.LittleEndian.Uint32(body[4:]))
	body = body[8:]
	var h header
	if n > maxHeader || n > len(body) || json.Unmarshal(body[:n], &h) != nil || h.Dimension <= 0 || h.Rows < 0 {
		return nil, errors.New("without a header")
	}
	body = body[n:]
	size := rowBytes(h.Dimension)
	if len(body)%size != 0 || len(body)/size != h.Rows {
		return nil, errors.New("not as long as its header says")
	}
	f := &File{Root: h.Root, Model: h.Model, Dimension: h.Dimension, Sample: h.Sample, Sampled: h.Sampled, Reference: h.Reference, Rows: make([]Row, h.Rows)}
	for i := range f.Rows {
		if err := decodeRow(body[i*size:(i+1)*size], &f.Rows[i]); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func decodeRow(raw []byte, r *Row) error {
	n := copy(r.Key[:], raw)
	r.File = binary.LittleEndian.Uint64(raw[n:])
	r.Inverse = math.Float32frombits(binary.LittleEndian.Uint32(raw[n+8:]))
	if !(r.Inverse > 0) || math.IsInf(float64(r.Inverse), 0) {
		return errors.New("with a vector of no length")
	}
	numbers := raw[n+12:]
	r.Numbers = make([]int8, len(numbers))
	for i, b := range numbers {
		r.Numbers[i] = int8(b)
	}
	return nil
}
