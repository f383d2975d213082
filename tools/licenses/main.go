// Licenses reads names of files from its standard input, one a line, and prints a JSON object: the SPDX identifiers of the
// licences in each file.
package main

import (
	"bufio"
	"encoding/json"
	"log"
	"os"

	"github.com/google/licensecheck"
)

func main() {
	found := map[string][]string{}
	names := bufio.NewScanner(os.Stdin)
	for names.Scan() {
		text, err := os.ReadFile(names.Text())
		if err != nil {
			log.Fatal(err)
		}
		ids := []string{}
		for _, match := range licensecheck.Scan(text).Match {
			if !match.IsURL {
				ids = append(ids, match.ID)
			}
		}
		found[names.Text()] = ids
	}
	if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
		log.Fatal(err)
	}
}
