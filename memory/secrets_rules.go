package memory

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// secretRules are compiled when they are first needed: most runs write nothing.
var secretRules = sync.OnceValue(makeSecretRules)

// makeSecretRules are the rules in the order of their rank: of two that find the
// same place the first one names it. Most issuers mark their tokens with a
// prefix, which makes for rules that ordinary text does not meet; the last rules
// know a credential by what stands around it.
func makeSecretRules() []secretRule {
	return slices.Concat(markedRules(), contextRules())
}

// markedRules know credentials by what their issuers mark them with.
func markedRules() []secretRule {
	return []secretRule{
		{name: "private-key", hints: []string{"private key"},
			pattern: regexp.MustCompile(`-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?:\\[nr]|[\s>|"'+,\\]|[A-Za-z-]+: [^\n]*\n)*[A-Za-z0-9+/]{24,}`)},
		{name: "private-key", hints: []string{"putty-user-key-file"},
			pattern: regexp.MustCompile(`PuTTY-User-Key-File-\d: [\s\S]*?Private-Lines: \d+\s+[A-Za-z0-9+/=]{24,}`)},
		{name: "private-key", hints: []string{"age-secret-key-"}, pattern: regexp.MustCompile(`AGE-SECRET-KEY-1[0-9A-Z]{58}`)},

		{name: "aws-access-key-id", hints: []string{"akia", "asia", "abia", "acca"}, pattern: regexp.MustCompile(`(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}`)},
		{name: "aws-secret-access-key", hints: []string{"aws"}, value: 1, check: func(m secretMatch) bool { return random(m.group(1), 4.0) },
			pattern: regexp.MustCompile(`(?i)aws[a-z0-9_. -]{0,30}(?:secret|sk)[a-z0-9_ -]{0,30}["']?\s{0,3}(?:=>|:=|=|:|is)\s{0,3}["']?([A-Za-z0-9/+]{40})`)},
		{name: "gcp-api-key", hints: []string{"aiza"}, pattern: regexp.MustCompile(`AIza[0-9A-Za-z_-]{35}`)},
		{name: "gcp-oauth-token", hints: []string{"ya29."}, pattern: regexp.MustCompile(`ya29\.[0-9A-Za-z_-]{20,}`)},
		{name: "gcp-oauth-client-secret", hints: []string{"gocspx-"}, pattern: regexp.MustCompile(`GOCSPX-[0-9A-Za-z_-]{28}`)},
		{name: "azure-storage-key", hints: []string{"accountkey", "sharedaccesskey"}, value: 1,
			pattern: regexp.MustCompile(`(?i)\b(?:AccountKey|SharedAccessKey)\s{0,2}=\s{0,2}([A-Za-z0-9+/]{40,90}={1,2})`)},
		{name: "azure-client-secret", hints: []string{"q~"}, check: func(m secretMatch) bool { return random(m.group(0), 3.5) },
			pattern: regexp.MustCompile(`[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{31,34}`)},
		{name: "azure-sas-token", hints: []string{"sig="}, value: 1,
			pattern: regexp.MustCompile(`(?i)[?&]sv=\d{4}-\d\d-\d\d&[^\s"'<>]*?sig=([A-Za-z0-9%+/]{40,70}(?:%3d|=))`)},
		{name: "github-token", hints: []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"},
			pattern: regexp.MustCompile(`gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}`)},
		{name: "gitlab-token", hints: []string{"glpat-", "glptt-", "gldt-", "glrt-", "glsoat-", "glcbt-", "glft-", "glimt-", "glagent-", "gloas-", "gr1348941"},
			pattern: regexp.MustCompile(`gl(?:pat|ptt|dt|rt|soat|cbt|ft|imt|agent|oas)-[0-9A-Za-z_-]{20,}|GR1348941[0-9A-Za-z_-]{20}`)},
		{name: "slack-token", hints: []string{"xox", "xapp-"}, check: func(m secretMatch) bool { return classesOf(m.group(0)).digit > 3 },
			pattern: regexp.MustCompile(`xox[abeoprs](?:\.xox[bp])?-[0-9A-Za-z-]{10,}|xapp-\d-[0-9A-Za-z-]{20,}`)},
		{name: "slack-webhook", hints: []string{"hooks.slack.com"},
			pattern: regexp.MustCompile(`hooks\.slack\.com/(?:services/T[0-9A-Z]{6,}/B[0-9A-Z]{6,}/[0-9A-Za-z]{16,}|(?:workflows|triggers)/[0-9A-Z]{6,}/[0-9A-Za-z/]{16,})`)},
		{name: "stripe-key", hints: []string{"k_live_", "k_test_", "whsec_"}, pattern: regexp.MustCompile(`(?:sk|rk)_(?:live|test)_[0-9A-Za-z]{16,}|whsec_[0-9A-Za-z+/]{24,}`)},
		{name: "npm-token", hints: []string{"npm_"}, check: func(m secretMatch) bool { return classesOf(m.group(0)[4:]).kinds() > 1 }, pattern: regexp.MustCompile(`npm_[0-9A-Za-z]{36}`)},
		{name: "anthropic-key", hints: []string{"sk-ant-"}, pattern: regexp.MustCompile(`sk-ant-[a-z0-9]+-[0-9A-Za-z_-]{20,}`)},
		{name: "openai-key", hints: []string{"sk-"}, check: func(m secretMatch) bool { c := classesOf(m.group(0)[3:]); return c.digit > 0 && c.lower+c.upper > 0 },
			pattern: regexp.MustCompile(`sk-(?:proj|svcacct|admin|None)-[0-9A-Za-z_-]{20,}|sk-[0-9A-Za-z]{20}T3BlbkFJ[0-9A-Za-z]{20}|sk-[0-9A-Za-z]{32,64}`)},
		{name: "openrouter-key", hints: []string{"sk-or-"}, pattern: regexp.MustCompile(`sk-or-v\d-[0-9a-f]{48,}`)},
		{name: "huggingface-token", hints: []string{"hf_", "api_org_"}, check: func(m secretMatch) bool { return classesOf(m.group(0)[3:]).kinds() > 1 },
			pattern: regexp.MustCompile(`(?:hf|api_org)_[0-9A-Za-z]{30,40}`)},
		{name: "jwt", hints: []string{"eyj"}, check: isJWT, pattern: regexp.MustCompile(`eyJ[0-9A-Za-z_-]{8,}\.eyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]{10,}`)},

		{name: "alibaba-access-key", hints: []string{"ltai"}, check: func(m secretMatch) bool { return classesOf(m.group(0)[4:]).kinds() > 1 }, pattern: regexp.MustCompile(`LTAI[0-9A-Za-z]{12,26}`)},
		{name: "databricks-token", hints: []string{"dapi"}, pattern: regexp.MustCompile(`dapi[0-9a-f]{32}(?:-\d)?`)},
		{name: "digitalocean-token", hints: []string{"_v1_"}, pattern: regexp.MustCompile(`do[opr]_v1_[0-9a-f]{64}`)},
		{name: "docker-token", hints: []string{"dckr_"}, pattern: regexp.MustCompile(`dckr_(?:pat|oat)_[0-9A-Za-z_-]{27,}`)},
		{name: "grafana-token", hints: []string{"glsa_", "glc_"}, pattern: regexp.MustCompile(`glsa_[0-9A-Za-z]{32}_[0-9a-f]{8}|glc_[0-9A-Za-z+/]{32,}={0,2}`)},
		{name: "groq-key", hints: []string{"gsk_"}, pattern: regexp.MustCompile(`gsk_[0-9A-Za-z]{48,}`)},
		{name: "linear-key", hints: []string{"lin_api_", "lin_oauth_"}, pattern: regexp.MustCompile(`lin_(?:api|oauth)_[0-9A-Za-z]{40,}`)},
		{name: "mailgun-key", hints: []string{"key-"}, check: func(m secretMatch) bool { return random(m.group(0)[4:], 3.0) }, pattern: regexp.MustCompile(`key-[0-9a-f]{32}`)},
		{name: "notion-token", hints: []string{"ntn_"}, pattern: regexp.MustCompile(`ntn_[0-9A-Za-z]{40,}`)},
		{name: "pypi-token", hints: []string{"pypi-"}, pattern: regexp.MustCompile(`pypi-AgE[0-9A-Za-z_-]{50,}`)},
		{name: "sendgrid-key", hints: []string{"sg."}, pattern: regexp.MustCompile(`SG\.[0-9A-Za-z_-]{22}\.[0-9A-Za-z_-]{43}`)},
		{name: "shopify-token", hints: []string{"shpat_", "shpca_", "shppa_", "shpss_"}, pattern: regexp.MustCompile(`shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}`)},
		{name: "square-token", hints: []string{"sq0"}, pattern: regexp.MustCompile(`sq0(?:atp|csp)-[0-9A-Za-z_-]{22,43}`)},
		{name: "telegram-token", hints: []string{":a"}, pattern: regexp.MustCompile(`\d{8,10}:AA[0-9A-Za-z_-]{33}`)},
		{name: "vault-token", hints: []string{"hvs.", "hvb."}, pattern: regexp.MustCompile(`hv[sb]\.[0-9A-Za-z_-]{24,}`)},
		{name: "xai-key", hints: []string{"xai-"}, pattern: regexp.MustCompile(`xai-[0-9A-Za-z]{60,}`)},
	}
}

// contextRules know credentials by what stands around them.
func contextRules() []secretRule {
	names := strings.Join(secretWords, "|")
	return []secretRule{
		{name: "connection-string", line: true, hints: []string{"://"}, value: 2, check: func(m secretMatch) bool { return password(m.group(2)) && m.group(1) != m.group(2) },
			pattern: regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]+://([^\s:/@"'<>]*):([^\s@/"'<>]{3,})@[^\s/"'<>@]`)},
		{name: "connection-string", line: true, hints: []string{"password", "pwd"}, value: 1, check: func(m secretMatch) bool { return password(m.group(1)) },
			pattern: regexp.MustCompile(`(?i)\b(?:server|host|data source|addr|endpoint)\s?=[^;\n]+;[^\n]*?\b(?:password|pwd)\s?=\s?([^;\s"'<>]{4,})`)},
		{name: "connection-string", line: true, hints: []string{"password"}, value: 1, check: func(m secretMatch) bool { return password(m.group(1)) },
			pattern: regexp.MustCompile(`(?i)(?:\bhost=\S+ (?:[a-z_]{1,30}=\S* )*|\bjdbc:[^\s?;]+[?;](?:[^\s"'<>]*[&;])?)password=([^&;\s"'<>]{4,})`)},
		{name: "authorization-header", line: true, hints: []string{"bearer", "basic"}, value: 1, check: func(m secretMatch) bool { return random(m.group(1), 3.5) },
			pattern: regexp.MustCompile(`(?i)\b(?:bearer|basic)\s{1,3}([A-Za-z0-9+/_.~-]{20,}={0,2})`)},
		{name: "high-entropy-assignment", line: true, hints: secretWords, value: 2, check: assigned,
			pattern: regexp.MustCompile(`(?i)([a-z0-9_.-]*(?:` + names + `)[a-z0-9_-]*)["'\x60*\]]{0,3}\s{0,3}(?::=|=>|==?|:|：|＝|\s(?:is|ist|est|es|é|è|är|jest|это|は|是)\s)\s{0,3}[*_]{0,2}\s{0,1}(?:f?["'\x60]{1,3})?([^\s"'\x60<>,;()\[\]{}，。；]{8,})`)},
		{name: "high-entropy-assignment", line: true, hints: secretWords, scan: inProse},
		{name: "high-entropy-assignment", hints: []string{"|"}, scan: func(text string, _ Span) []Span { return inTables(text) }},
		{name: "high-entropy-assignment", line: true, hints: secretWords, value: 2, check: assigned,
			pattern: regexp.MustCompile(`(?i)(--[a-z0-9_-]*(?:` + names + `)[a-z0-9_-]*)\s{1,3}["']?([^\s"'\x60<>,;()\[\]{}]{8,})`)},
	}
}

// secretWords are what names of secrets hold, in the languages that people take
// notes in.
var secretWords = []string{
	"password", "passwd", "passphrase", "passcode", "pwd", "secret", "token", "api_key", "api-key", "apikey", "api key", "access_key", "access-key", "accesskey",
	"access key", "secret key", "pass phrase", "private_key", "private-key", "privatekey", "auth_key", "authkey", "signing_key", "signing-key", "signingkey",
	"encryption_key", "encryption-key", "encryptionkey", "master_key", "master-key", "masterkey", "credential",
	"passwort", "kennwort", "geheimnis", "zugangsschlüssel", "api-schlüssel", "mot de passe", "clé api", "clé d'api", "jeton", "contraseña", "clave de api", "clave api", "senha", "palavra-passe",
	"chave de api", "chave api", "parola d'ordine", "chiave api", "parolă", "parola", "wachtwoord", "lösenord", "passord", "adgangskode", "hasło", "haslo", "klucz api", "heslo", "salasana", "jelszó", "şifre",
	"lozinka", "slaptažodis", "parole", "parool", "geslo", "kata sandi", "kunci api", "mật khẩu", "khóa api",
	"пароль", "пароля", "паролю", "паролем", "парола", "секрет", "токен", "ключ api", "api-ключ", "лозинка", "κωδικός", "κωδικό", "συνθηματικό",
	"密码", "密碼", "口令", "密钥", "密鑰", "金鑰", "令牌", "暗号", "通行码", "パスワード", "パスフレーズ", "暗証番号", "apiキー", "アクセスキー", "トークン", "シークレット", "비밀번호", "비밀 번호", "암호", "패스워드", "토큰", "api 키", "api키", "비밀 키",
	"كلمة المرور", "كلمة السر", "كلمه المرور", "رمز المرور", "مفتاح api", "رمز عبور", "گذرواژه", "پاس ورڈ", "סיסמה", "סיסמא", "סיסמת", "טוקן", "पासवर्ड", "कूटशब्द", "টোকেন", "পাসওয়ার্ড", "கடவுச்சொல்", "รหัสผ่าน", "โทเค็น", "ពាក្យសម្ងាត់",
}

// notSecretWords in the name of a value say that it is about a secret and none.
var notSecretWords = wordSet(`public pub hash hashed hashes digest checksum fingerprint id ids name names arn path file filename dir folder url uri endpoint type kind
	count limit limits length size max min ttl expiry expires expiration version ref env var variable field header prefix suffix regex pattern policy page cursor next
	sync continuation placeholder manager provider store location format algorithm rotation column table label key_id issuer audience scope usage budget class
	service server vault engine handler helper factory`)

// placeholders are what documentation writes in place of a password.
var placeholders = wordSet(`password passwd passphrase pass pwd pw secret token key apikey changeme change_me change-me example admin root user username guest test
	postgres mysql redis default dummy foo bar baz none null nil true false hunter2 yourpassword mypassword pass123 password123 mysecretpassword redacted masked
	hidden removed omitted x-oauth-basic x-token-auth oauth2 hello world`)

func wordSet(list string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return set
}

// password tells whether the password of a connection is one, and no place for
// one.
func password(s string) bool {
	return !placeholder(s) && !placeholders[strings.ToLower(s)]
}

// placeholder tells whether a text stands for a value: a variable, a template, a
// mask, an expression.
func placeholder(s string) bool {
	lower := strings.ToLower(s)
	switch {
	case strings.ContainsAny(s[:1], "$%{<[!&@#"), strings.Contains(s, "${"), strings.Contains(s, "{{"), strings.Contains(s, "%("),
		strings.Contains(s, "..."), strings.Contains(s, "…"), strings.Contains(s, "***"), strings.Contains(lower, "xxxx"), strings.Contains(s, "•••"):
		return true
	case strings.Contains(s, "://"), strings.HasPrefix(lower, "arn:"), strings.HasPrefix(lower, "env:"), strings.HasPrefix(lower, "vault:"):
		return true
	}
	for _, w := range []string{"example", "placeholder", "changeme", "your", "redacted", "dummy", "process.env", "os.environ", "getenv", "secrets.", "env.", "config."} {
		if strings.Contains(lower, w) {
			return true
		}
	}
	// DB_PASSWORD names a variable.
	return strings.ContainsRune(s, '_') && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == "" && classesOf(s).digit < 4
}

// random tells whether a text looks drawn rather than written.
func random(s string, bits float64) bool {
	c := classesOf(s)
	return !placeholder(s) && c.digit >= max(1, len(s)/32) && c.lower+c.upper >= 4 && entropy(s) >= bits && !worded(s)
}

// worded tells whether a text consists of words with numbers among them: a name,
// a path, a version, an identifier.
func worded(s string) bool {
	for _, piece := range strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune("-_./:+=~@*", r) }) {
		if strings.ContainsFunc(piece, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			return false
		}
		// k8s, v2beta1 and 10ms are words as well; longer ones have one number.
		if len(piece) > 8 && changes(piece) > 2 || len(piece) <= 8 && changes(piece) > 3 {
			return false
		}
		for _, letters := range strings.FieldsFunc(piece, unicode.IsDigit) {
			if len(letters) > 24 || mixedCase(letters) > 3 {
				return false
			}
		}
	}
	return true
}

// changes counts how often letters and digits take turns.
func changes(s string) int {
	n, last := 0, -1
	for _, r := range s {
		kind := 0
		if unicode.IsDigit(r) {
			kind = 1
		}
		if last >= 0 && kind != last {
			n++
		}
		last = kind
	}
	return n
}

// mixedCase counts the changes from lower to upper case, of which a name in
// camel case has few.
func mixedCase(s string) int {
	n, lower := 0, false
	for _, r := range s {
		if unicode.IsUpper(r) && lower {
			n++
		}
		lower = unicode.IsLower(r)
	}
	return n
}

// assigned tells whether what is assigned to the name of a secret is one: for a
// password three kinds of characters, for anything else a value that looks
// drawn.
func assigned(m secretMatch) bool {
	name, value := strings.ToLower(m.group(1)), strings.TrimRight(m.group(2), ".:?*_")
	if next := m.next(2); next == '(' || next == '[' || next == '{' || next == '<' || len(value) < 8 {
		return false
	}
	if notSecret(m.group(1)) || placeholder(value) || placeholders[strings.ToLower(value)] {
		return false
	}
	c := classesOf(value)
	if passwordNamed(name) && c.digit > 0 && c.lower+c.upper > 1 && c.kinds() >= 3 && !worded(strings.TrimRight(value, "!")) {
		return true
	}
	if passwordNamed(name) && c.other > 0 && c.kinds() == 4 && strings.ContainsAny(value, "!#$%^&*?") {
		return true
	}
	if len(value) >= 32 && c.other == 0 && strings.Trim(value, "0123456789abcdefABCDEF") == "" {
		return c.digit > 3 && c.lower+c.upper > 3 && entropy(value) >= 3
	}
	return len(value) >= 16 && random(value, 3.5)
}

func passwordNamed(name string) bool {
	return !slices.ContainsFunc([]string{"token", "key", "secret", "credential"}, func(w string) bool { return strings.Contains(name, w) })
}

// notSecret tells whether the name of a value says that it is none itself.
func notSecret(name string) bool {
	for _, w := range nameWords(name) {
		if notSecretWords[w] {
			return true
		}
	}
	return false
}

// nameWords are the words of an identifier, in lower case.
func nameWords(name string) []string {
	var words []string
	start, lower := 0, false
	cut := func(end int) {
		if end > start {
			words = append(words, strings.ToLower(name[start:end]))
		}
	}
	for i, r := range name {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			cut(i)
			start = i + len(string(r))
		case unicode.IsUpper(r) && lower:
			cut(i)
			start = i
		}
		lower = unicode.IsLower(r) || unicode.IsDigit(r)
	}
	cut(len(name))
	return words
}

// isJWT tells whether the first part of a token is the header of one.
func isJWT(m secretMatch) bool {
	head, _, _ := strings.Cut(m.group(0), ".")
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(head, "="))
	var h struct {
		Alg string `json:"alg"`
	}
	return err == nil && json.Unmarshal(raw, &h) == nil && h.Alg != ""
}
