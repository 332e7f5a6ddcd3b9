package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/memls/memls/recall/eval"
)

// allVariants is the value of --compare that names every variant of the scorer.
const allVariants = "all"

// evalCompare prints how variants of the scorer do on every set.
func (p *program) evalCompare(ctx context.Context, f *evalFlags, dirs []string) error {
	variants := eval.Variants()
	if f.compare != allVariants {
		var err error
		if variants, err = eval.Choose(variants, strings.Split(f.compare, ",")); err != nil {
			return usage(err)
		}
	}
	var out []*eval.Comparison
	for _, dir := range dirs {
		set, err := loadSet(dir, f.part)
		if err != nil {
			return err
		}
		c, err := eval.Compare(ctx, set, f.search, variants)
		if err != nil {
			return err
		}
		out = append(out, c)
	}
	if f.json {
		enc := json.NewEncoder(p.stdout)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(out)
	}
	if err := eval.WriteComparisons(p.stdout, out); err != nil {
		return failure(err)
	}
	return nil
}

// loadSet reads a labelled set, or the part of it that is asked for, such as 1/2.
func loadSet(dir, part string) (*eval.Set, error) {
	k, n := 1, 1
	if part != "" {
		if _, err := fmt.Sscanf(part, "%d/%d", &k, &n); err != nil || fmt.Sprintf("%d/%d", k, n) != part || n < 1 || k < 1 || k > n {
			return nil, usagef("--part %q is not of the form 1/2: a part, and how many there are", part)
		}
	}
	set, err := eval.Load(dir)
	if err != nil {
		if errors.Is(err, fs.ErrPermission) {
			return nil, failure(err)
		}
		return nil, usage(err)
	}
	if part == "" {
		return set, nil
	}
	set = set.Part(k, n)
	if len(set.Cases) == 0 {
		return nil, usagef("--part %s of %s holds no case: the set has too few", part, dir)
	}
	return set, nil
}
