import { figure, pre } from './markup.js';

/**
 * The request samples of an operation, by language. `%base%`, `%id%` and `%export%` stand for
 * values that a script fills in.
 */
type Samples = Readonly<Record<string, string>>;

const LIST: Samples = {
  curl: `%export%curl -i \\
  -H "Authorization: Bearer $API_KEY" \\
  '%base%/store/orders'`,
  JavaScript: `const response = await fetch('%base%/store/orders', {
  headers: { Authorization: \`Bearer \${process.env.API_KEY}\` },
});
const text = await response.text();
// JSON.parse rounds integers above 2^53. Strings stay exact.
const exact = text.replace(/"(id|petId)":\\s*(-?\\d+)/g, '"$1":"$2"');
const orders = JSON.parse(exact);
console.log(orders);`,
  Python: `import json
import os
import urllib.request

request = urllib.request.Request(
    "%base%/store/orders",
    headers={"Authorization": f"Bearer {os.environ['API_KEY']}"},
)
with urllib.request.urlopen(request) as response:
    orders = json.load(response)  # int is exact
print(orders)`,
  Go: `package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
)

type Order struct {
	ID       int64 // exact; a float64 is not
	PetID    int64
	Quantity int64
	ShipDate string
	Complete bool
}

func main() {
	request, err := http.NewRequest("GET", "%base%/store/orders", nil)
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("API_KEY"))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	var orders []Order
	if err := json.NewDecoder(response.Body).Decode(&orders); err != nil {
		log.Fatal(response.Status, err)
	}
	fmt.Printf("%+v\\n", orders)
}`,
};

const CANCEL: Samples = {
  curl: `%export%curl -i -X DELETE \\
  -H "Authorization: Bearer $API_KEY" \\
  '%base%/store/orders/%id%'`,
  JavaScript: `const id = '%id%'; // a string or a bigint, never a number
const response = await fetch(\`%base%/store/orders/\${id}\`, {
  method: 'DELETE',
  headers: { Authorization: \`Bearer \${process.env.API_KEY}\` },
});
console.log(response.status, await response.text());`,
  Python: `import os
import urllib.error
import urllib.request

request = urllib.request.Request(
    "%base%/store/orders/%id%",
    method="DELETE",
    headers={"Authorization": f"Bearer {os.environ['API_KEY']}"},
)
try:
    with urllib.request.urlopen(request) as response:
        print(response.status)
except urllib.error.HTTPError as error:
    print(error.status, error.read().decode())`,
  Go: `package main

import (
	"io"
	"log"
	"net/http"
	"os"
)

func main() {
	request, err := http.NewRequest("DELETE", "%base%/store/orders/%id%", nil)
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("API_KEY"))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	log.Println(response.Status, string(body))
}`,
};

const SAMPLES = { listOrders: LIST, cancelOrder: CANCEL } as const;

/** Returns the samples of an operation. A group of radio buttons selects the language. */
export function requestSamples(operation: keyof typeof SAMPLES, basePath: string, exampleId: string): string {
  const samples = Object.entries(SAMPLES[operation]);
  const choices = samples.map(
    ([language], index) =>
      `<label><input type="radio" name="${operation}-language" value="${language}"${index === 0 ? ' checked' : ''}>${language}</label>`,
  );
  const blocks = samples.map(
    ([language, sample]) => `<div data-language="${language}">${pre(`Request, ${language}`, sample)}</div>`,
  );
  const languages = `<span class="languages" role="radiogroup" aria-label="Language">${choices.join('')}</span>`;
  return fillable(figure('the request', languages, blocks.join('\n')), basePath, exampleId);
}

function fillable(html: string, basePath: string, exampleId: string): string {
  return html
    .replaceAll('%base%', `<span data-fill="base">http://127.0.0.1:8080${basePath}</span>`)
    .replaceAll('%id%', `<span data-fill="id">${exampleId}</span>`)
    .replaceAll('%export%', '<span data-fill="export"></span>');
}
