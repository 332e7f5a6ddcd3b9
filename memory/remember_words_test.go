package memory_test

import (
	"strings"
	"testing"

	"github.com/memls/memls/memory"
)

// What only asks to remember says nothing to remember.
func TestRememberNothing(t *testing.T) {
	h := keep(t, nil, nil)
	for _, text := range []string{
		"remember that", "Remember", "Please remember:", "note to self", "merk dir, dass", "souviens-toi que", "recuerda que", "запомни, что", "请记住", "请记住：", "覚えておいて", "覚えておいてください。", "기억해줘", "זכור ש", "تذكر أن", "याद रखें कि",
		"จำไว้ว่า", "hãy nhớ rằng", "remember that ...",
	} {
		_, err := h.Remember(t.Context(), memory.Remember{Text: text, Name: "x"}, true)
		if r := h.refused(memory.RefusedInput, err); r.Field != "text" {
			t.Errorf("%q: %+v", text, r)
		}
	}
	for field, q := range map[string]memory.Remember{
		"text": {Text: "caf\xe9 closes at six"}, "name": {Text: "x y", Name: "caf\xe9"}, "keywords": {Text: "x y", Keywords: []string{"caf\xe9"}}, "type": {Text: "x y", Type: "caf\xe9"},
	} {
		_, err := h.Remember(t.Context(), q, true)
		if r := h.refused(memory.RefusedInput, err); r.Field != field || !strings.Contains(r.Detail, "UTF-8") {
			t.Errorf("%s: %+v", field, r)
		}
	}
	h.wantFiles("nothing", map[string]string{})
}

// Whose a text is, it says in many languages; of several the first that it says.
func TestRememberScopeIsWhatTheTextSays(t *testing.T) {
	for text, want := range map[string]memory.Scope{
		"For the team: deploys happen on Mondays":            memory.ScopeTeam,
		"everyone on the team uses tabs":                     memory.ScopeTeam,
		"Für das ganze Team gilt: Deploys nur montags":       memory.ScopeTeam,
		"Pour toute l'équipe : pas de déploiement le lundi":  memory.ScopeTeam,
		"Para todo el equipo: no desplegar los lunes":        memory.ScopeTeam,
		"Para toda a equipe: sem deploy na segunda":          memory.ScopeTeam,
		"Per il nostro team: niente rilasci il lunedì":       memory.ScopeTeam,
		"Voor het hele team: geen deploys op maandag":        memory.ScopeTeam,
		"För hela teamet: inga deployer på måndagar":         memory.ScopeTeam,
		"Dla całego zespołu: bez wdrożeń w poniedziałki":     memory.ScopeTeam,
		"Pro celý tým: v pondělí se nenasazuje":              memory.ScopeTeam,
		"Takım için: pazartesi dağıtım yok":                  memory.ScopeTeam,
		"Koko tiimille: ei julkaisuja maanantaisin":          memory.ScopeTeam,
		"A csapat számára: hétfőn nincs kiadás":              memory.ScopeTeam,
		"Для всей команды: деплой только в понедельник":      memory.ScopeTeam,
		"Для всієї команди: деплой лише у понеділок":         memory.ScopeTeam,
		"За целия екип: внедряване само в понеделник":        memory.ScopeTeam,
		"Για όλη την ομάδα: όχι ανάπτυξη τη Δευτέρα":         memory.ScopeTeam,
		"لكل الفريق: لا نشر يوم الاثنين":                     memory.ScopeTeam,
		"לכל הצוות: אין פריסה ביום שני":                      memory.ScopeTeam,
		"पूरी टीम के लिए: सोमवार को डिप्लॉय नहीं":            memory.ScopeTeam,
		"Cho cả nhóm: không triển khai vào thứ hai":          memory.ScopeTeam,
		"Untuk seluruh tim: tidak ada rilis hari Senin":      memory.ScopeTeam,
		"สำหรับทั้งทีม: ไม่มีการปล่อยวันจันทร์":              memory.ScopeTeam,
		"团队约定：周一不部署":                                         memory.ScopeTeam,
		"チーム全員：月曜日はデプロイしない":                                  memory.ScopeTeam,
		"우리 팀: 월요일에는 배포하지 않는다":                               memory.ScopeTeam,
		"In this project we use tabs":                        memory.ScopeProject,
		"In unserem Projekt nehmen wir Tabs":                 memory.ScopeProject,
		"В этом репозитории используем табы":                 memory.ScopeProject,
		"这个仓库用制表符":                                           memory.ScopeProject,
		"このリポジトリではタブを使う":                                     memory.ScopeProject,
		"이 저장소는 탭을 쓴다":                                       memory.ScopeProject,
		"In all my projects I use tabs, in this project too": memory.ScopeUser,
		"In this project, for the team, tabs are used":       memory.ScopeProject,
		"The API is free for everyone who asks":              memory.ScopeUser,
		"The team eats lunch at noon":                        memory.ScopeUser,
		"Der Teamraum ist im dritten Stock":                  memory.ScopeUser,
		"l'équipement est dans le hangar":                    memory.ScopeUser,
		"チームラボの展示は五月まで":                                      memory.ScopeUser,
		"I like short lines":                                 memory.ScopeUser,
		"mój zespół rockowy gra w piątek":                    memory.ScopeUser,
		"Командная строка лучше мыши":                        memory.ScopeUser,
		"Projektor steht im Keller":                          memory.ScopeUser,
		"для командировки нужен паспорт":                     memory.ScopeUser,
	} {
		h := keep(t, nil, nil)
		kept := h.remember(memory.Remember{Text: text})
		if got := kept.Operation.Changes[0].Ref; !strings.HasPrefix(got, string(want)+":") {
			t.Errorf("%q: %s, want the scope %s", text, got, want)
		}
		if len(kept.Operation.Warnings) > 0 {
			t.Errorf("%q: warnings %q", text, kept.Operation.Warnings)
		}
	}
}

// A scope that the text says and that nobody serves is not passed over in
// silence, and what is meant for others does not end as one person's.
func TestRememberSaysWhenTheScopeOfTheTextIsNotThere(t *testing.T) {
	h := keep(t, nil, nil)
	h.roots = h.roots[:2]
	kept := h.remember(memory.Remember{Text: "For the team: deploys happen on Mondays"})
	if c := kept.Operation.Changes[0]; !strings.HasPrefix(c.Ref, "project:") {
		t.Errorf("%+v", c)
	}
	if w := kept.Operation.Warnings; len(w) != 1 || !strings.Contains(w[0], "no team memory can be written to here: it is kept in project") {
		t.Errorf("warnings %q", w)
	}
	h.roots = h.roots[1:]
	kept = h.remember(memory.Remember{Text: "In this project the cranes are blue"})
	if c := kept.Operation.Changes[0]; !strings.HasPrefix(c.Ref, "user:") || len(kept.Operation.Warnings) != 1 {
		t.Errorf("%+v", kept.Operation)
	}
}

// One letter has four forms in Turkic languages; a name is found by any.
func TestForgetFindsDottedAndDotlessLetters(t *testing.T) {
	for text, query := range map[string]string{
		"İstanbul office closes at six": "istanbul", "istanbul office closes at six": "İSTANBUL", "IĞDIR depo": "ığdır", "ISPARTA gülü": "ısparta", "isparta gülü": "ISPARTA",
	} {
		h := keep(t, map[string]string{"user/a.md": text + "\n"}, nil)
		if got := planRefs(h.forget(memory.Forget{Query: query})); len(got) != 1 {
			t.Errorf("%q in %q: %q", query, text, got)
		}
	}
}

// A statement with another value takes the place of the old one: only one holds.
func TestFORGET_10_ACorrectionLeavesOneStatement(t *testing.T) {
	const before = "---\nname: SSH port\ntype: project\n---\n\nthe port is 22\n"
	h := keep(t, map[string]string{"project/ssh.md": before}, nil)
	kept := h.remember(memory.Remember{Text: "the port is 49222", Name: "SSH port"})
	if c := kept.Operation.Changes[0]; c.Ref != "project:ssh.md" || c.Action != memory.ActionUpdate {
		t.Fatalf("%+v", kept.Operation)
	}
	h.wantFiles("corrected", map[string]string{"project/ssh.md": strings.Replace(before, "22", "49222", 1)})
	for d := range h.bench.Snapshot().All() {
		if body := d.BodyText(); strings.Contains(body, "is 22") || !strings.Contains(body, "is 49222") {
			t.Errorf("served: %q", body)
		}
	}
	if _, err := h.Undo(t.Context(), kept.Operation.ID); err != nil {
		t.Fatal(err)
	}
	h.wantFiles("taken back", map[string]string{"project/ssh.md": before})
}
