package memory_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memls/memls/memory"
)

// sayings are how people write a password or a key down, %s being it.
var sayings = []string{
	"password %s", "Password: %s", "password = %s", "password -> %s", "password → %s", "password – %s", "password (staging) %s", "password `%s`", "the password is `%s`", "password: **%s**", "**password** %s", "*password*: `%s`",
	"the password for staging is %s", "the password of the staging database is %s, ask Ana", "Set the password to %s before Monday.", "the password has been changed to %s", "log in with user ana and password %s", "use the passphrase \"%s\" there",
	"my pwd is %s", "pwd %s", "staging passwd: %s", "db password — %s", "%s is the password", "`%s` is the staging password", "root password of the box in rack 4 was %s until May",
	"| password | %s |", "| user | ana | password | `%s` |", "| name | password |\n|---|---|\n| ana | %s |", "| host | user | db password | note |\n|:--|:-:|--:|---|\n| db1 | ana | `%s` | old |", "password | note\n--- | ---\n%s | of staging",
	"Password:\n%s", "Password:\n\n    %s\n", "Password:\n```\n%s\n```\n", "- password:\n  - `%s`",
	// German, Dutch, the Nordic languages
	"Passwort %s", "Das Passwort für Staging lautet %s", "Das Kennwort ist %s.", "Das Passwort heißt jetzt `%s`", "%s ist das Passwort", "Passwort vom Testserver: %s", "wachtwoord %s", "Het wachtwoord voor staging is %s", "Lösenordet är %s",
	"lösenordet till staging är %s", "Passordet er %s", "passord til testserveren: %s", "Adgangskoden er %s", "Salasana on %s", "testipalvelimen salasana on %s",
	// the Romance languages
	"le mot de passe est %s", "Mot de passe de la base : %s", "le mot de passe pour staging, c'est %s", "la contraseña es %s", "La contraseña de staging es %s", "contraseña nueva: %s", "a senha é %s", "A senha do banco de homologação é %s", "a palavra-passe é %s",
	"la password è %s", "La password di staging è %s", "parola d'ordine: %s", "parola este %s", "Parola pentru staging este %s",
	// the Slavic languages
	"hasło to %s", "hasło do bazy testowej: %s", "Hasło %s", "heslo je %s", "Heslo do testovací databáze je %s", "heslo %s", "пароль %s", "Пароль: %s", "пароль — %s", "пароль от тестовой базы: %s", "сменил пароль на %s", "%s — пароль от стенда",
	"пароль до бази: %s", "Пароль для стейджингу — %s", "паролата е %s", "парола за базата: %s", "lozinka je %s", "geslo je %s",
	// others of Europe
	"ο κωδικός είναι %s", "Ο κωδικός για τη βάση είναι %s", "a jelszó %s", "A teszt jelszava: jelszó %s", "slaptažodis yra %s", "parole ir %s", "parool on %s", "şifre %s", "Veritabanı şifresi %s", "şifre: %s", "yeni parola %s", "Parola %s'dir",
	// Asia
	"密码是 %s", "密码是%s", "密码为%s。", "密码：%s", "密码 %s", "测试环境的密码是%s，别外传", "密码改成了 %s", "登录口令 %s", "密碼是 %s", "%s是测试库的密码", "パスワードは %s", "パスワードは%sです", "ステージングのパスワードは「%s」です。", "パスワード %s", "新しいパスワード：%s", "%s がパスワードです",
	"비밀번호는 %s", "비밀번호는 %s입니다", "스테이징 비밀번호: %s", "암호는 %s 이다", "비번 말고 비밀번호 %s", "पासवर्ड है %s", "पासवर्ड %s है", "स्टेजिंग का पासवर्ड %s है", "mật khẩu là %s", "Mật khẩu của máy chủ thử nghiệm là %s", "kata sandi adalah %s", "kata sandi server uji: %s",
	"รหัสผ่านคือ %s", "รหัสผ่าน %s", "পাসওয়ার্ড হল %s", "கடவுச்சொல் %s",
	// from right to left
	"كلمة المرور هي %s", "كلمة السر: %s", "كلمة المرور لقاعدة البيانات هي %s", "הסיסמה היא %s", "סיסמה: %s", "הסיסמה לשרת הבדיקות היא %s", "رمز عبور %s است", "پاس ورڈ %s ہے",
}

// keySayings are how they write longer keys and tokens down.
var keySayings = []string{
	"api key %s", "API key: %s", "the API key for staging is %s", "api key `%s`", "| api key | %s |", "| service | token |\n|---|---|\n| ci | `%s` |", "the deploy token is %s", "our access key — %s", "use secret %s", "token %s", "Zugangsschlüssel %s", "API-Schlüssel: %s",
	"Das Token für CI ist %s", "la clé API est %s", "le jeton est %s", "la clave de API es %s", "a chave de API é %s", "la chiave API è %s", "klucz API to %s", "токен %s", "ключ API: %s", "API密钥是 %s", "访问令牌：%s", "密钥 %s", "APIキーは %s", "トークンは%sです", "API 키는 %s", "토큰: %s",
	"مفتاح API هو %s", "टोकन नहीं, token %s", "kunci API adalah %s",
}

// password is one of n letters and digits, of which some are digits, as a
// generator makes them.
func password(n, seed int) string { return "xK9" + drawn(base62, n-3, seed) }

func TestSecretsInProse(t *testing.T) {
	seed, found := 1000, 0
	check := func(saying, value string) {
		seed++
		text := fmt.Sprintf(saying, value)
		got := memory.FindSecrets(text)
		if len(got) == 0 || !strings.Contains(text[got[0].Span.Start:got[0].Span.End], value[:len(value)-1]) {
			t.Errorf("%+v in %q", got, text)
			return
		}
		found++
	}
	for _, s := range sayings {
		check(s, password(12, 7))
		check(s, "Tr0u"+drawn(digits, 2, seed)+"dor&"+drawn(base62, 3, 3)+"7x")
		check(s, password(20, 11))
	}
	for _, s := range keySayings {
		check(s, password(32, 9))
		check(s, password(24, 5))
	}
	t.Logf("%d sayings, %d findings", len(sayings)+len(keySayings), found)
}

// Of credentials as generators draw them nearly all are found wherever they stand.
func TestSecretsDrawnAtRandomAreFound(t *testing.T) {
	for _, n := range []int{12, 16, 20, 32} {
		missed := 0
		const all = 1000
		for seed := range all {
			if len(memory.FindSecrets("the password for staging is "+drawn(base62, n, seed))) == 0 {
				missed++
			}
		}
		t.Logf("%d characters: %d of %d found", n, all-missed, all)
		if missed > all/4 {
			t.Errorf("%d characters: %d of %d missed", n, missed, all)
		}
	}
}

// What stands near the name of a secret and is none.
func TestSecretsAreNotSeenInHardText(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("testdata", "secrets", "hard.txt"))
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for line := range strings.Lines(string(raw)) {
		lines++
		for _, s := range memory.FindSecrets(line) {
			t.Errorf("%s: %q in %q", s.Rule, line[s.Span.Start:s.Span.End], line)
		}
	}
	for _, s := range memory.FindSecrets(string(raw)) {
		t.Errorf("%s: %q", s.Rule, raw[s.Span.Start:s.Span.End])
	}
	t.Logf("%d lines", lines)
	if lines < 150 {
		t.Errorf("only %d lines", lines)
	}
}
