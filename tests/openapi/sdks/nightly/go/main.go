// A program written against the generated module, as a user would: `usage URL IMAGE`.
//
// Every field is read into a variable whose type is written out, so that it compiles only while the types are as a
// reader of the document expects. Run, it holds the answers against each other.
//
// Not used are base64 and raw bytes (`Accept: application/octet-stream`): the SDK profile writes a vector as
// numbers only.
package main

import (
	"encoding/base64"
	"os"

	"example.org/cenote/cenote"
)

func main() {
	bytes, err := os.ReadFile(os.Args[2])
	check(err == nil, "an image, not %v", err)
	image := "data:image/png;base64," + base64.StdEncoding.EncodeToString(bytes)
	configuration := cenote.NewConfiguration()
	configuration.Servers = cenote.ServerConfigurations{{URL: os.Args[1]}}
	client := cenote.NewAPIClient(configuration)
	want := inputsGiveAVector(client, image)
	messagesGiveTheSame(client, image, want)
	cohereGivesTheSame(client, image, want)
	featuresGiveTheSame(client, image, want)
	tokensOfAnImageAreCounted(client, image)
	tokensAreTextAgain(client)
	rerankGivesTheScores(client, image)
	teiIsAnswered(client)
	errorsAreTyped(client)
	itemsHaveErrorsOfTheirOwn(client, image, want)
	modelsAreTyped(client)
}
