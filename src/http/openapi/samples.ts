/** A request sample in the form of the extension `x-codeSamples`, which many tools show. */
export interface CodeSample {
  readonly lang: string;
  readonly label: string;
  readonly source: string;
}

/**
 * Returns request samples for an operation at a full URL. They print ids exactly, and none needs a
 * package.
 */
export function createSamples(method: string, url: string): readonly CodeSample[] {
  return [
    { lang: 'Shell', label: 'curl', source: curl(method, url) },
    { lang: 'JavaScript', label: 'JavaScript', source: javaScript(method, url) },
    { lang: 'Python', label: 'Python', source: python(method, url) },
  ];
}

function curl(method: string, url: string): string {
  return `curl -i${method === 'GET' ? '' : ` -X ${method}`} \\
  -H "Authorization: Bearer $API_KEY" \\
  '${url}'`;
}

function javaScript(method: string, url: string): string {
  return `const response = await fetch('${url}', {
  method: '${method}',
  headers: { Authorization: \`Bearer \${process.env.API_KEY}\` },
});
const text = await response.text();
// JSON.parse rounds integers above 2^53. Strings stay exact.
const exact = text.replace(
  /"(id|petId)":\\s*(-?\\d+)/g,
  '"$1":"$2"',
);
console.log(response.status, exact && JSON.parse(exact));`;
}

function python(method: string, url: string): string {
  return `import json, os, urllib.error, urllib.request

request = urllib.request.Request(
    "${url}",
    method="${method}",
    headers={"Authorization": f"Bearer {os.environ['API_KEY']}"},
)
try:
    with urllib.request.urlopen(request) as response:
        text = response.read()
        # json.loads keeps every digit of an integer.
        print(response.status, text and json.loads(text))
except urllib.error.HTTPError as error:
    print(error.status, error.read().decode())`;
}
