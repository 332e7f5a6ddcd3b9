package memory

import (
	"strconv"
	"strings"
)

// PinDraft is what it takes to pin a memory, or to let go of it: one key of its
// header. ok is false when it is as wanted already.
func PinDraft(d *Document, pinned bool) (draft Draft, ok bool, err error) {
	refs := []string{d.Ref}
	if d.Pinned == pinned {
		return Draft{}, false, nil
	}
	if folder, _, nested := strings.Cut(d.Rel, "/"); nested && strings.EqualFold(folder, "pinned") {
		return Draft{}, false, refuse(RefusedConflict, refs, "it lies in the folder %s, which pins it: move it to unpin it", folder)
	}
	reps, err := SetKeys(d, KeyChange{Key: "pinned", Text: strconv.FormatBool(pinned)})
	if err != nil {
		return Draft{}, false, refuse(RefusedConflict, refs, "%s cannot be pinned or unpinned: %w", d.Ref, err)
	}
	reason := "pinned"
	if !pinned {
		reason = "unpinned"
	}
	return Draft{Kind: KindPin, Edits: []Edit{{Action: ActionUpdate, Doc: d, Replace: reps, Reason: reason}}}, true, nil
}
