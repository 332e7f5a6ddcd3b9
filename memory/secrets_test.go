package memory_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memls/memls/memory"
)

// drawn is text that looks random and is the same in every run. No credential
// of the tests stands in their source in one piece: scanners of other programs
// read it, too.
func drawn(alphabet string, n, seed int) string {
	x := uint64(seed)*0x9E3779B97F4A7C15 + 0x2545F4914F6CDD1D
	var b strings.Builder
	for range n {
		x ^= x >> 12
		x ^= x << 25
		x ^= x >> 27
		b.WriteByte(alphabet[(x*0x2545F4914F6CDD1D>>33)%uint64(len(alphabet))])
	}
	return b.String()
}

const (
	lowerHex = "0123456789abcdef"
	digits   = "0123456789"
	upper32  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	upper36  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	base62   = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	base64s  = base62 + "+/"
	base64u  = base62 + "_-"
)

// credential is one that must be found, in the text that it stands in.
type credential struct{ rule, before, value, after string }

// credentials are at least three of every kind, alone and as people write them
// down.
func credentials() []credential {
	var all []credential
	seed := 1
	add := func(rule string, value func() string) {
		for _, around := range [][2]string{{"", ""}, {"The key is ", ", ask Ana."}, {"- `", "` (staging)\n"}, {"export X=\"", "\"\n"}} {
			all = append(all, credential{rule, around[0], value(), around[1]})
			seed++
		}
	}
	in := func(rule, before string, value func() string, after string) {
		for range 3 {
			all = append(all, credential{rule, before, value(), after})
			seed++
		}
	}
	of := func(alphabet string, n int) func() string { return func() string { return drawn(alphabet, n, seed) } }
	with := func(prefix, alphabet string, n int) func() string {
		return func() string { return prefix + drawn(alphabet, n, seed) }
	}

	add("aws-access-key-id", with("AKI"+"A", upper32, 16))
	add("aws-access-key-id", with("ASI"+"A", upper32, 16))
	in("aws-secret-access-key", "aws_secret_access_key = ", of(base64s, 40), "\n")
	in("aws-secret-access-key", "AWS secret key: \"", of(base64s, 40), "\"")
	add("gcp-api-key", with("AIz"+"a", base64u, 35))
	add("gcp-oauth-token", with("ya2"+"9.", base64u, 60))
	add("gcp-oauth-client-secret", with("GOCS"+"PX-", base64u, 28))
	in("azure-storage-key", "DefaultEndpointsProtocol=https;AccountName=tides;AccountKey=", func() string { return drawn(base64s, 86, seed) + "==" }, ";EndpointSuffix=core.windows.net")
	in("azure-storage-key", "Endpoint=sb://tides.servicebus.windows.net/;SharedAccessKeyName=root;SharedAccessKey=", func() string { return drawn(base64s, 43, seed) + "=" }, "")
	add("azure-client-secret", func() string { return drawn(base62, 3, seed) + "8Q" + "~" + drawn(base62, 34, seed+1) })
	in("azure-sas-token", "https://tides.blob.core.windows.net/b?sv=2024-05-04&ss=b&srt=sco&sp=rl&sig=", func() string { return drawn(base62, 43, seed) + "%3D" }, " until May")
	for _, p := range []string{"ghp", "gho", "ghu", "ghs", "ghr"} {
		add("github-token", with(p+"_", base62, 36))
	}
	add("github-token", func() string { return "github_" + "pat_" + drawn(base62, 22, seed) + "_" + drawn(base62, 59, seed+1) })
	for _, p := range []string{"glpat", "gldt", "glrt", "glptt"} {
		add("gitlab-token", with(p+"-", base62, 20))
	}
	for _, p := range []string{"xoxb", "xoxp", "xoxa", "xoxs"} {
		add("slack-token", func() string {
			return p + "-" + drawn(digits, 12, seed) + "-" + drawn(digits, 12, seed+1) + "-" + drawn(base62, 24, seed+2)
		})
	}
	add("slack-token", func() string {
		return "xapp" + "-1-A" + drawn(upper36, 10, seed) + "-" + drawn(digits, 13, seed+1) + "-" + drawn(lowerHex, 64, seed+2)
	})
	in("slack-webhook", "https://", func() string {
		return "hooks.slack" + ".com/services/T" + drawn(upper36, 8, seed) + "/B" + drawn(upper36, 8, seed+1) + "/" + drawn(base62, 24, seed+2)
	}, "")
	for _, p := range []string{"sk_live", "sk_test", "rk_live"} {
		add("stripe-key", with(p+"_", base62, 24))
	}
	add("stripe-key", with("whs"+"ec_", base62, 32))
	add("npm-token", with("npm"+"_", base62, 36))
	add("openai-key", func() string {
		return "sk" + "-" + drawn(base62, 20, seed) + "T3Blbk" + "FJ" + drawn(base62, 20, seed+1)
	})
	add("openai-key", with("sk"+"-proj-", base64u, 120))
	add("openai-key", with("sk"+"-svcacct-", base64u, 60))
	add("openai-key", with("sk"+"-", base62, 48))
	add("anthropic-key", with("sk"+"-ant-api03-", base62, 93))
	add("anthropic-key", with("sk"+"-ant-oat01-", base62, 80))
	add("openrouter-key", with("sk"+"-or-v1-", lowerHex, 64))
	add("huggingface-token", with("hf"+"_", base62, 34))
	add("jwt", func() string {
		return "ey" + "JhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9." + "ey" + "J" + drawn(base62, 40, seed) + "." + drawn(base64u, 42, seed+1) + "A"
	})
	for _, kind := range []string{"", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "} {
		in("private-key", "Deploy key:\n\n", func() string {
			return "-----BEGIN " + kind + "PRIVATE " + "KEY-----\n" + drawn(base64s, 64, seed) + "\n" + drawn(base64s, 64, seed+1)
		}, "\n-----END\n")
	}
	in("private-key", "{\"private_key\": \"", func() string { return "-----BEGIN " + "PRIVATE KEY-----\\n" + drawn(base64s, 64, seed) }, "\\n\"}")
	in("private-key", "    ", func() string {
		return "-----BEGIN RSA " + "PRIVATE KEY-----\r\n    Proc-Type: 4,ENCRYPTED\r\n    " + drawn(base64s, 64, seed)
	}, "\r\n")
	in("private-key", "", func() string { return "AGE-SECRET" + "-KEY-1" + drawn(upper36, 58, seed) }, "")
	for _, scheme := range []string{"postgres", "postgresql", "mysql", "mongodb+srv", "rediss", "amqps", "https", "ftp"} {
		in("connection-string", "The dump is at "+scheme+"://harbour:", of(base62, 11), "@db.internal:5432/tides?sslmode=require")
	}
	in("connection-string", "redis://:", of(base62, 16), "@redis:6379/0")
	in("connection-string", "mysql://root:", func() string { return "s3" + "cr3t" + drawn(digits, 2, seed) }, "@10.0.0.7/tides")
	in("connection-string", "Server=tcp:tides.database.windows.net,1433;Database=tides;User ID=app;Password=", of(base62, 14), ";Encrypt=true")
	in("connection-string", "host=db.internal user=tides password=", of(base62, 14), " dbname=tides")
	in("connection-string", "jdbc:postgresql://db.internal/tides?user=tides&password=", of(base62, 14), "")
	in("authorization-header", "Authorization: Bearer ", of(base62, 40), "\n")
	in("authorization-header", "curl -H 'Authorization: Basic ", func() string { return drawn(base62, 30, seed) + "==" }, "'")

	add("digitalocean-token", with("dop"+"_v1_", lowerHex, 64))
	add("sendgrid-key", func() string { return "SG" + "." + drawn(base64u, 21, seed) + "x." + drawn(base64u, 42, seed+1) + "x" })
	add("alibaba-access-key", with("LTA"+"I5t", base62, 20))
	add("pypi-token", with("pypi"+"-AgEIcHlwaS5vcmc", base62, 80))
	add("docker-token", with("dckr"+"_pat_", base62, 27))
	add("shopify-token", with("shp"+"at_", lowerHex, 32))
	add("vault-token", with("hv"+"s.", base62, 90))
	add("databricks-token", with("dap"+"i", lowerHex, 32))
	add("telegram-token", func() string { return drawn("123456789", 10, seed) + ":A" + "A" + drawn(base62, 33, seed+1) })
	add("groq-key", with("gs"+"k_", base62, 52))
	add("xai-key", with("xa"+"i-", base62, 80))
	add("linear-key", with("lin"+"_api_", base62, 40))
	add("notion-token", with("nt"+"n_", base62, 46))
	add("grafana-token", func() string { return "gls" + "a_" + drawn(base62, 32, seed) + "_" + drawn(lowerHex, 8, seed+1) })
	add("square-token", with("sq0"+"atp-", base62, 22))
	add("mailgun-key", with("ke"+"y-", lowerHex, 32))

	for _, name := range []string{
		"api_key = ", "API_KEY=", "apiKey: \"", "\"client_secret\": \"", "SESSION_SECRET=", "auth_token: ", "secret := \"", "encryption_key = ", "signingKey: '",
		"deploy token: ", "the token is ", "**API key:** ", "Token：", "токен: ", "密钥：", "--token ", "x-api-key: ", "HARBOUR_ACCESS_KEY=",
	} {
		in("high-entropy-assignment", name, of(base62, 32), "\n")
	}
	in("high-entropy-assignment", "secret_key: ", of(lowerHex, 64), "\n")
	in("high-entropy-assignment", "api key: ", func() string { return drawn(base64s, 43, seed) + "=" }, "\n")
	for _, name := range []string{"password: ", "PASSWORD=", "\"password\": \"", "Passwort: ", "mot de passe : ", "contraseña: ", "пароль: ", "密码：", "パスワード：", "비밀번호: ", "the password is ", "--password "} {
		in("high-entropy-assignment", name, func() string { return "Tr0u" + drawn(digits, 2, seed) + "dor&" + drawn(base62, 3, seed) + "7x" }, "\n")
	}
	return all
}

func TestSecretsAreFoundByTheNameOfTheirRule(t *testing.T) {
	all := credentials()
	perRule := map[string]int{}
	for _, c := range all {
		text := c.before + c.value + c.after
		found := memory.FindSecrets(text)
		if len(found) != 1 || found[0].Rule != c.rule {
			t.Errorf("%s: %+v in %q", c.rule, found, text)
			continue
		}
		perRule[c.rule]++
		// What is found is in the value; the value is found but for its very edges.
		s := found[0].Span
		if got := text[s.Start:s.End]; !strings.Contains(c.value, got) || len(got)*10 < len(c.value)*4 {
			t.Errorf("%s: found %q of %q", c.rule, got, c.value)
		}
	}
	t.Logf("%d of %d credentials found, by %d rules", sum(perRule), len(all), len(perRule))
}

func sum(m map[string]int) (n int) {
	for _, v := range m {
		n += v
	}
	return n
}

// What people write every day is no secret: a set of its own, the sample memory,
// the sources and the documents of the project.
func TestSecretsAreNotSeenInOrdinaryText(t *testing.T) {
	lines := 0
	check := func(name, text string) {
		for line := range strings.Lines(text) {
			if strings.TrimSpace(line) != "" {
				lines++
			}
		}
		for _, s := range memory.FindSecrets(text) {
			t.Errorf("%s: %s: %q", name, s.Rule, text[s.Span.Start:s.Span.End])
		}
	}
	raw, err := os.ReadFile(filepath.Join("testdata", "secrets", "ordinary.txt"))
	if err != nil {
		t.Fatal(err)
	}
	check("ordinary.txt", string(raw))
	if lines < 300 {
		t.Errorf("the set has only %d lines", lines)
	}
	own := lines
	top := ".."
	err = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == filepath.Join(top, "testdata", "attacks") || path == filepath.Join(top, "testdata", "extract"):
			return fs.SkipDir // they hold credentials that must not be learnt
		case d.IsDir() && (d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") && path != top || d.Name() == "fuzz"):
			return fs.SkipDir
		case d.IsDir() || strings.HasPrefix(d.Name(), "secrets_"):
			return nil
		}
		switch filepath.Ext(path) {
		case ".go", ".md", ".jsonl", ".txt", ".sum", ".mod":
		default:
			return nil
		}
		raw, err := os.ReadFile(path)
		check(path, string(raw))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d ordinary lines of the set, %d in all, without a finding", own, lines)
}

func TestAddedSecretsLeavesWhatStoodBefore(t *testing.T) {
	old, fresh := "ghp_"+drawn(base62, 36, 7), "ghp_"+drawn(base62, 36, 8)
	before := "# Notes\n\n- token " + old + "\n"
	moved := "- token " + old + "\n\n# Notes\n"
	if found := memory.AddedSecrets(before, moved); len(found) != 0 {
		t.Errorf("what was moved: %+v", found)
	}
	found := memory.AddedSecrets(before, moved+"- and "+fresh+"\n")
	if rules := memory.SecretRules(found); len(found) != 1 || rules[0] != "github-token" {
		t.Errorf("what was added: %+v", found)
	}
}

// A finding names its rule only, whatever it is printed with.
func TestSecretsAreNeverCarriedAlong(t *testing.T) {
	for _, c := range credentials()[:20] {
		for _, s := range memory.FindSecrets(c.before + c.value + c.after) {
			if strings.Contains(strings.Join(memory.SecretRules([]memory.Secret{s}), " "), c.value) {
				t.Errorf("%s carries the value", s.Rule)
			}
		}
	}
}

func FuzzSecrets(f *testing.F) {
	for _, c := range credentials() {
		f.Add(c.before + c.value + c.after)
	}
	f.Fuzz(func(t *testing.T, text string) {
		last := 0
		for _, s := range memory.FindSecrets(text) {
			if s.Rule == "" || s.Span.Start < last || s.Span.Len() <= 0 || s.Span.End > len(text) {
				t.Fatalf("%+v", s)
			}
			last = s.Span.End
		}
		if found := memory.AddedSecrets(text, text); len(found) != 0 {
			t.Fatalf("nothing was added: %+v", found)
		}
	})
}
