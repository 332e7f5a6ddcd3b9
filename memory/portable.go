package memory

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// CheckPortable tells whether rel is a name that memls would give a file: one that
// every system takes, that shows what it is, and that is still the same after a
// checkout elsewhere. Files that others have named otherwise are read all the same.
func CheckPortable(rel string) error {
	if err := CheckRel(rel); err != nil {
		return err
	}
	for seg := range strings.SplitSeq(rel, "/") {
		if err := portable(seg); err != nil {
			return err
		}
	}
	return nil
}

func portable(seg string) error {
	if !utf8.ValidString(seg) || norm.NFC.String(seg) != seg {
		return errors.New("a name in an encoding, or of composed characters, that systems write in several ways")
	}
	for _, r := range seg {
		switch {
		case strings.ContainsRune(`<>:"|?*\`, r):
			return fmt.Errorf("a name with %q, which not every system allows", r)
		case unicode.IsControl(r), unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs):
			return fmt.Errorf("a name with %U, which nobody sees", r)
		case r != ' ' && unicode.IsSpace(r):
			return fmt.Errorf("a name with %U, which looks like a blank", r)
		}
	}
	stem, _, _ := strings.Cut(seg, ".")
	switch {
	case strings.HasPrefix(seg, " "), strings.HasSuffix(seg, " "), strings.HasSuffix(seg, "."), strings.HasSuffix(strings.TrimSuffix(seg, path.Ext(seg)), " "):
		return errors.New("a name that begins or ends with a blank or a point")
	case device(strings.ToLower(strings.TrimRight(stem, " "))):
		return fmt.Errorf("%s is a device on Windows, with any extension", stem)
	}
	return nil
}

// device tells whether Windows takes a name for a device.
func device(stem string) bool {
	switch stem {
	case "con", "prn", "aux", "nul", "conin$", "conout$":
		return true
	}
	digit, found := strings.CutPrefix(stem, "com")
	if !found {
		digit, found = strings.CutPrefix(stem, "lpt")
	}
	return found && utf8.RuneCountInString(digit) == 1 && strings.Trim(digit, "0123456789¹²³") == ""
}

// portableRel is rel with names that every system takes in the place of others.
func portableRel(rel string) string {
	segments := strings.Split(rel, "/")
	for i, seg := range segments {
		if portable(seg) == nil {
			continue
		}
		if i == len(segments)-1 {
			segments[i] = Slug(strings.TrimSuffix(seg, path.Ext(seg))) + strings.ToLower(path.Ext(seg))
		} else {
			segments[i] = Slug(seg)
		}
	}
	return strings.Join(segments, "/")
}
