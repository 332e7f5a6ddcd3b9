package model

import "unicode/utf8"

// Tokens is about how many tokens a text takes, rather too many than too few:
// four characters of ASCII make one, of other alphabets two, and of scripts that
// write words in one or two characters each is one. Vocabularies differ by a
// third either way; what an endpoint counts replaces it.
func Tokens(text string) int {
	var ascii, letters, signs int
	for _, r := range text {
		switch {
		case r < utf8.RuneSelf:
			ascii++
		case r < 0x1100:
			letters++
		default:
			signs++
		}
	}
	return (ascii+3)/4 + (letters+1)/2 + signs
}
