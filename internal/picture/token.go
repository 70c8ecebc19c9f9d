package picture

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
)

// keptToken returns the token of the user's last picture, or a new one, which it keeps for the next: a page that is still open
// goes on when the program is started again at the same port. It is in the user's cache folder, in a file that nobody else can
// read; without such a folder, each run has its own. An open page sends it to whoever has the port: to have a new one, delete the file.
func keptToken() string {
	folder, err := os.UserCacheDir()
	if err != nil {
		return rand.Text()
	}
	folder = filepath.Join(folder, "client-go-workbook")
	path := filepath.Join(folder, "picture-token")
	text, err := os.ReadFile(path)
	token := strings.TrimSpace(string(text))
	info, statErr := os.Stat(path)
	if err == nil && statErr == nil && info.Mode().Perm() == 0o600 && len(token) == len(rand.Text()) {
		return token
	}
	token = rand.Text()
	if os.MkdirAll(folder, 0o700) != nil {
		return token
	}
	file, err := os.CreateTemp(folder, "picture-token-") // only the user can read it
	if err != nil {
		return token
	}
	_, err = file.WriteString(token + "\n")
	if file.Close() != nil || err != nil || os.Rename(file.Name(), path) != nil {
		_ = os.Remove(file.Name())
	}
	return token
}
