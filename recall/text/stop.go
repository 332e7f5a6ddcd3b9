package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Topic says how much a word tells about the subject of a query.
type Topic uint8

const (
	// Content words may make a document a candidate.
	Content Topic = iota
	// Weak words count for the order of candidates but make none.
	Weak
	// Function words count for nothing.
	Function
)

// functionWords are the articles, pronouns, prepositions, conjunctions, copulas,
// auxiliaries and question words of the languages that write spaces, folded.
// Inv: no word here names a thing, a tool or an act that a memory could be about.
var functionWords = wordSet(
	// English
	`a about above after again ago almost along always away back all also always am an and any anybody anyone anything are aren as at be because been before
	being below between both but by can cannot could couldn did didn do does doesn doing don done down during each either else
	ever every everyone everything few for from further had hadn has hasn have haven having he hello help her here hers herself hey hi
	him himself his how i if in into is isn it its itself just kindly know let lets ll m may maybe me might mine more most much must my
	myself never no nor not nothing now of off ok okay on once only or other ought our ours ourselves out over own please
	quite rather re really s same shall she should shouldn since so some somebody someone something somewhere still such t tell
	than thank thanks that the their theirs them themselves then there these they this those though through to together too
	under until up upon us ve very was wasn we well were weren what whatever when where whether which while who whom whose
	why will with within without won would wouldn yes yet you your yours yourself`,
	// German
	`aber alle allem allen aller alles als also am an auch auf aus bei beim bis bitte bist da dabei damit danach dann das
	dass dein deine dem den denn der des dessen die dies diese diesem diesen dieser dieses doch dort du durch ein eine einem
	einen einer eines er es etwas euch euer für gegen gibt hab habe haben hat hatte hatten hier hinter ich ihm ihn ihnen ihr
	ihre ihrem ihren ihrer im in ins ist ja jede jedem jeden jeder jedes jetzt kann kein keine keinem keinen können könnte
	man mehr mein meine meinem meinen meiner mich mir mit muss müssen nach nicht nichts noch nun nur ob oder ohne sehr sein
	seine seit sich sie sind so solche soll sollen sollte sondern über um und uns unser unsere unserem unseren unserer unter vom von vor wann war
	waren warum was weil welche welchem welchen welcher welches wenn wer werde werden wie wieder will wir wird wo wohin wozu
	wurde wurden würde zu zum zur zwischen geht macht machen gilt gelten`,
	// French
	` as au aux avec avez avons c ce cela ces cet cette ceux chaque chez comme comment contre d dans de déjà depuis des
	donc dont du elle elles en encore entre es est et étaient était étant été être eu faire fait faut ici il ils j je jusque
	l la là le les leur leurs lors lui m ma mais me même mes moi moins mon n ne ni non nos notre nous on ont ou où par
	parce pas pendant peut peux plus pour pourquoi qu quand que quel quelle quelles quels qui quoi s sa sans se sera ses si son
	sont sous sur t ta te tes toi ton tous tout toute toutes très tu un une vos votre vous y doit dois doivent`,
	// Spanish
	`al algo algún alguna algunas alguno algunos ante antes aquel aquella aquí así aún aunque cada como cómo con contra cual
	cuál cuáles cuando cuándo de del desde donde dónde durante e el él ella ellas ello ellos en entre era es esa esas ese
	eso esos esta está estaba estado están estas este esto estos fue fueron ha había hace hacer hacemos han hasta hay he la las le les lo los más
	me mi mis mucho muy nada ni no nos nosotros nuestra nuestras nuestro nuestros o otra otro para pero por porque puede puedo que qué quien
	quién se sea ser si sí sido sin sobre son su sus también tanto te tener tenemos tengo tiene tienen todo todos tu tú un una uno unos usted
	vamos y ya yo debe debo debemos hemos significa`,
	// Portuguese
	`ainda ao aos aquela aquele aqui as às até cada com como da das de dela dele deles depois do e é ela elas ele eles em
	entre era essa esse esta está estamos estão este eu faz fazer foi foram há isso isto já lhe mais mas me mesmo meu minha
	muito na nas não nem no nos nós nossa nossas nosso nossos num numa o onde ou para pela pelas pelo pelos pode por porque qual quais
	quando que quem se sem ser seu sua são só também te tem temos tenho todo todos um uma umas uns você vocês devo deve`,
	// Italian
	`agli al alla alle anche che chi coi col come con cosa cui da dai dal dalla dalle degli dei del della delle di dove e è
	ed era gli ha hai hanno ho i il in la le lei li lo loro lui ma mi mia mio ne nei nel nella noi non nostra nostro o per
	perché più può quale quali quando quanto quella quello questa questo sarà se sei si sia sono su sua sui sul sulla suo ti tra
	tu tua tuo tutti tutto un una uno voi`,
	// Dutch, Swedish, Danish, Norwegian
	`aan als bij dan dat deze die dit doen door dus een en er geen haar heb hebben heeft hem het hier hij hoe ik in is je kan
	kunnen maar me meer men met mij mijn moet naar niet nog nu of om omdat ons onze ook op over te toch tot uit van veel voor
	waar waarom wanneer was wat we welke werd wie wij wordt zal ze zich zij zijn zo zou
	att av dem den det deras dess där efter eller en ett för från gör ha hade han har hon hur hos i inte jag kan med men
	mellan min mitt mot när nej ni nu och om oss på sig ska skulle som till under upp ut vad var vår vara vid vilka vilken
	vilket är alle andre at blev blive der du efter ej er et fordi fra hvad hvem hvis hvor hvordan hvorfor ikke jeg kunne
	mig når og også skal sådan til ved være hva hvilken meg noe oss`,
	// Polish, Czech
	`a aby albo ale bez będzie być by był była było czy dla do gdy gdzie i ich ile im ja jak jaki jaka jakie jako je jego jej jest
	jeszcze już kiedy kto która które którego której który których lub ma mam mamy mi mnie mój może mu my na nad nam nas nasz
	nasze nie nim o od on ona one oni oraz po przed przez przy są się skąd swój ta tak także tam te tego tej ten to tu ty
	tylko tym w we więc wszystko z za ze że żeby
	ani ano aby bude budou byl byla bylo být co či další ho jak jaké jaká jaký jsem jsme jsou jste k kam kde kdo když která které který ke
	má mají máme mezi mi můj může na nad nám náš naše nebo než není o od pak po podle pokud pro proč proto před při s se si
	své svůj tak také tady tento to toho tom tu u už v váš ve více však všechno z za zda že`,
	// Turkish, Finnish, Hungarian
	`ama ancak bana bazı ben benim beni bir biz bizim bu bunu bunun çok da daha de değil diye en gibi göre hangi hangisi her
	için ile ise kadar ki kim mı mi mu mü nasıl ne neden nedir nerede niçin o olan olarak oldu olduğu olur onu onun sen siz
	şey şu tüm var ve veya ya yani yok musun mıyız
	ei en että hän hänen he ja jo joka jos kanssa kuin kuka kun me mikä miksi miten missä mitä milloin mutta myös ne niin
	nyt ole oli olla on ovat se sen sinä tai tämä te tuo vain voi
	az és egy ez hogy hogyan igen is itt kell ki lehet már meg mi miért mikor milyen mit nem ott van vagy`,
	// Vietnamese, Indonesian
	`là và của có cho không được những các một trong với này đó thì mà để khi ở tại sao như thế nào gì bạn tôi chúng ta
	nên phải cần hay hoặc đã sẽ đang rồi cũng về từ đến bằng nếu vì ra vào lên bao nhiêu đâu hãy xin làm
	ada adalah akan apa apakah atau bagaimana bisa dan dari dengan di dia harus ini itu juga kami kamu kapan kita ke mana
	mengapa oleh pada saya sebagai siapa sudah tidak untuk yang`,
	// Russian, Ukrainian, Bulgarian
	`а без более бы был была были было быть в вам вас ваш весь во вот все всего всех вы где да даже для до его ее если есть
	еще же за здесь и из или им их к как какая какие какими каким какой каком когда кого кому кто ли либо мне может можно мои мой мы на над
	надо нам нами нас наш наша наше наши нашего нашей наших нашем него нее ней нельзя нет ни них но ну нужно о об он она они оно от откуда очень по под
	пожалуйста после потому почему при про раз с сам свой себе себя со так также такой там те тебе тебя то тобой тогда того
	тоже только том тот ту ты у уже хочу чего чей чем через что чтобы чья эта эти это этого этой этом этот я должны должен делать делаем
	або але би бо був була були було бути вже від він вона вони воно всі де для до є за зі її із інший йому його її коли
	який яка яке які якого якій кого ми може можна на над нам нас наш наша наше наші не ні о один ось під по при про та так також там те ти
	тільки то той треба у це цей ця ці цього цьому чи чому чого що щоб як якщо`,
	// Greek
	`αλλα αλλά αν αντι απο από αυτα αυτά αυτες αυτη αυτή αυτο αυτό αυτος αυτός για δε δεν εγω εδω εκει εμεις εμείς ειναι είναι ενα ένα
	εναν έναν ενας ένας η ή ηταν ήταν θα και κατα κατά κι μα με μεσα μέσα μετα μετά μη μην μια μου μονο μόνο μπορω μπορώ να ο οι ολα όλα
	ομως όμως οπως όπως οταν όταν οτι ότι ου πανω παρα πιο ποια ποιά ποιεσ ποιες ποιο ποιό ποιοσ ποιος ποιός ποτε πότε που πού πρεπει πρέπει προσ πρός πως πώς σαν
	σασ σε στα στη στην στισ στο στον στουσ τα τη την τησ της τι τί τισ το τον του τουσ των χωρισ χωρίς εχω έχω εχει έχει εχουμε έχουμε ωσ μασ μας`,
	// Arabic (after unification), Hebrew, Hindi
	`في من علي الي عن مع هذا هذه ذلك تلك التي الذي الذين هو هي هم نحن انا انت كان كانت يكون ما ماذا متي اين كيف لماذا هل لا لم لن ليس
	او ام ثم قد كل بعض غير عند عندما بين بعد قبل حتي اذا ان انه لان كما ايضا لدي لدينا يجب يمكن اي ايه ولا وما كم منذ حول به بها له لها لنا فيها فيه
	של את על אל עמ או אמ כי גמ לא כנ יש אינ אני אתה אנחנו הוא היא המ הנ זה זאת זו אלה מה מי איפה מתי איכ למה האמ כל עוד רק אבל כמו
	לפני אחרי בינ אצל לנו שלנו שלי שלכ איזה איזו באיזה באיזו לאיזה מאיזה שלומכ צריכ אפשר
	का के की को में से है हैं था थी थे हो होता होती होते हम हमारा हमारी हमारे मैं मेरा मेरी मेरे तुम आप आपका यह ये वह वे इस उस इन उन जो कि और या पर भी ही
	नहीं न तो क्या क्यों कब कहां कहाँ कैसे कौन कौनसा किस किसे कितना कितने एक कर करना करते करें किया जा जाता जाती जाते गया गई लिए साथ तक ने अपना अपनी अपने
	चाहिए रहा रही रहे सकता सकते होना कुछ कोई बारे`,
)

// weakWords are content words so general that they alone prove no topic.
var weakWords = wordSet(
	`weather wetter météo tiempo meteo weer väder pogoda počasí sää погода погоде погоду погоды καιρόσ καιρό طقس الطقس मौसम
	carry continue proceed user users agent team project memory
	use used uses using need needs needed want wants wanted make makes made making get gets getting got goes going went give gives work works
	working way ways thing things new old good best better right one two first last lasts lasted lasting longest longer next time times day like find show tell say set put run see look
	try keep take takes took taken responsible look looks looked looking explain explains means mean meaning today tonight tomorrow yesterday night nights morning evening week weeks day days hour hours minute minutes month months year years long often people person write wrote written read add added change changed changes start stop question answer example kind type lot bit
	nutzen nutze benutzen verwenden verwendet benutzt neue neuen neuer gut beste
	utiliser utilise utilisons utilisé nouveau nouvelle bon bonne meilleur mettre
	heute morgen gestern woche tag tage stunde stunden monat jahr lange dürfen darf
	aujourd'hui demain hier jour jours semaine mois an heure heures longtemps temps
	hoy mañana ayer día días semana mes año hora horas tiempo hoje amanhã ontem dia dias semana mês ano
	usar usa usamos uso nuevo nueva bueno mejor novo nova bom melhor utilizar
	сегодня завтра вчера день дня дней неделя недели неделю месяц год часов час долго спасибо понятно
	сьогодні завтра вчора день днів тиждень місяць рік годин
	σημερα σήμερα αυριο αύριο χθεσ χθες μερα μέρα μερεσ μέρες ωρα ώρα ωρεσ ώρες χρονο χρόνο
	bugün yarın dün gün gece saat hafta dziś dzisiaj jutro wczoraj dzień dni dnes zítra včera den dní dlouho tänään huomenna eilen
	اليوم غدا امس يوم ايام اسبوع شهر سنه وقت ساعه היומ מחר אתמול יומ ימימ שבוע חודש שנה זמנ आज कल परसों दिन दिनों हफ्ते महीने साल समय
	использовать используем используется используем работает новый новая новое лучше лучший использует
	використовуємо використовувати χρησιμοποιουμε χρησιμοποιούμε νεο νέο kullanıyoruz kullanmak yeni używamy używać
	نستخدم استخدام جديد افضل उपयोग इस्तेमाल प्रयोग नया नई नए काम`,
)

// runStops are the function words of scripts without spaces. A gram of the query
// that touches one proves no topic; they are looked for in the query only.
var runStops = strings.Fields(`
	谢谢 謝謝 好的 继续 ありがとう ありがとうございます 了解 はい いいえ お願いします 감사합니다 고마워 고맙습니다 계속 ขอบคุณ โอเค ตกลง
	天气 天氣 天気 날씨 อากาศ 今天 明天 昨天 今晚 早上 晚上 多长 多大 今日 明日 昨日 今夜 理由 오늘 내일 어제 저녁 아침 대신 얼마 며칠 언제까지 วันนี้ พรุ่งนี้ เมื่อวาน คืนนี้ กี่วัน
	我们 你们 他们 她们 它们 我的 你的 他的 咱们 自己 什么 怎么 怎样 怎麼 什麼 如何 为什么 為什麼 为何 哪个 哪些 哪里 哪裡 哪儿 谁 几个 多少 多久
	这个 那个 这些 那些 这里 那里 这样 那样 這個 那個 這些 可以 应该 應該 需要 是否 有没有 有沒有 是不是 能不能 能否 可否 会不会 要不要
	使用 采用 一下 一个 一個 一些 一种 时候 的时候 請問 请问 请 吗 呢 吧 啊 的 了 是 把 被 就 也 很 我 你 他 她 它
	帮我 帮忙 告诉 知道 现在 目前 进行 关于 對於 对于 以及 或者 但是 因为 所以 如果 没有 不要 不能 用什么 用的
	私たち 私の 我々 何を 何が 何で どう どの どこ どれ いつ なぜ だれ 誰 です ます でした ました ません ください ですか ますか して した する している
	しますか しています されて いる ある なる なに もの こと これ それ あれ この その ため から まで より ので のに けど について という としては として とは には では へは とき 場合
	の は が を に へ と で も や か ね よ な た て だ れ ら り る い う し 使う 使って 使っ 使い 教えて べき ほうが
	우리 우리가 우리는 저는 나는 내가 무엇 무엇을 무슨 어떤 어떻게 어디 어디에 어디서 언제 누가 누구 얼마나 어느 합니까 하나요 인가요 입니까 있나요
	했나요 되나요 할까요 해야 하는 하고 하지 한다 합니다 했다 됩니다 되어 있는 있다 있습니다 없는 그리고 그런데 하지만 대한 대해 위해 에서 으로 에게 부터 까지
	이나 라고 이라고 사용 사용하 쓰는 쓰나요 알려 알려줘 주세요 습니까 습니다
	อะไร อย่างไร ยังไง ทำไม เมื่อไหร่ เมื่อไร ที่ไหน ไหน ใคร เท่าไหร่ เท่าไร กี่ ของ และ หรือ ที่ ใน เป็น คือ ให้ ได้ จะ ไม่ มี ไหม มั้ย ครับ ค่ะ คะ นะ เรา ผม ฉัน คุณ
	เขา มัน นี้ นั้น ต้อง ควร ใช้ แล้ว กับ จาก โดย เพื่อ ก็ ว่า ถ้า แต่ การ ความ ช่วย บอก หน่อย
	ແມ່ນ ຫຍັງ ແນວໃດ ຂອງ ແລະ ທີ່ ໃນ ໃຊ້ ຕ້ອງ ພວກເຮົາ អ្វី យ៉ាងណា របស់ និង នៅ ដែល ប្រើ យើង ត្រូវ`)

// runStopsByHead holds them by their first code point.
var runStopsByHead = func() map[string][]string {
	m := map[string][]string{}
	for _, w := range runStops {
		m[w[:3]] = append(m[w[:3]], w)
	}
	return m
}()

func wordSet(lists ...string) map[string]struct{} {
	m := map[string]struct{}{}
	for _, l := range lists {
		for _, w := range strings.Fields(l) {
			m[w] = struct{}{}
			// Inv: a word of two letters is a stop word only as written: Czech "či" must not
			// hide "CI".
			if p := StripAccents(w); len(p) > 2 {
				m[p] = struct{}{}
			}
		}
	}
	return m
}

// TopicOf says how much a folded word of a script with spaces tells.
func TopicOf(term string) Topic {
	if _, ok := functionWords[term]; ok {
		return Function
	}
	if _, ok := weakWords[term]; ok {
		return Weak
	}
	return Content
}

// particles are the Korean endings of one syllable. They count only at the end of
// a word: inside one the same syllables begin and fill names (에러, 도커, 가격).
const particles = "은는이가을를의에도와과로"

// joining are Chinese characters that mostly join words, and still begin and end
// names (会议, 在线, 权限和). A bigram that touches one is not missed when no
// document has it.
const joining = "在有和与跟让给都还要会能用不这那为对从到及"

// Joins tells whether a bigram touches a character that mostly joins words.
func Joins(bigram string) bool { return strings.ContainsAny(bigram, joining) }

// Mask returns the byte spans of s that function words of scripts without
// spaces cover, longest words first at every place.
func Mask(s string) [][2]int {
	var out [][2]int
	for i := 0; i < len(s); {
		n := stopAt(s, i)
		if n == 0 {
			i++
			continue
		}
		out = append(out, [2]int{i, i + n})
		i += n
	}
	return out
}

// stopAt is the length of the longest function word that begins at s[i], 0 if none.
func stopAt(s string, i int) int {
	if s[i] < 0xE0 { // all of these words are of three-byte code points
		return 0
	}
	best := 0
	for _, w := range runStopsByHead[s[i:min(i+3, len(s))]] {
		if len(w) > best && strings.HasPrefix(s[i:], w) {
			best = len(w)
		}
	}
	if best > 0 {
		return best
	}
	r, n := utf8.DecodeRuneInString(s[i:])
	if strings.ContainsRune(particles, r) {
		before, _ := utf8.DecodeLastRuneInString(s[:i])
		after, _ := utf8.DecodeRuneInString(s[i+n:])
		if unicode.Is(unicode.Hangul, before) && !unicode.Is(unicode.Hangul, after) {
			return n
		}
	}
	return 0
}
