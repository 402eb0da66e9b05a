import { figure, pre } from './markup.js';

/** Returns the request samples by language. `%base%` stands for the base address. */
function samplesOf(method: string, path: string): Readonly<Record<string, string>> {
  return {
    curl: `curl -i${method === 'GET' ? '' : ` -X ${method}`} \\
  -H "Authorization: Bearer $API_KEY" \\
  '%base%${path}'`,
    JavaScript: `const base = '%base%';
const response = await fetch(\`\${base}${path}\`, {
  method: '${method}',
  headers: { Authorization: \`Bearer \${process.env.API_KEY}\` },
});
const text = await response.text();
// JSON.parse rounds integers above 2^53. Strings stay exact.
const exact = text.replace(
  /"(id|petId)":\\s*(-?\\d+)/g,
  '"$1":"$2"',
);
console.log(response.status, exact && JSON.parse(exact));`,
    Python: `import json, os, urllib.error, urllib.request

base = "%base%"
key = os.environ["API_KEY"]
request = urllib.request.Request(
    f"{base}${path}",
    method="${method}",
    headers={"Authorization": f"Bearer {key}"},
)
try:
    with urllib.request.urlopen(request) as response:
        text = response.read()
        # json.loads keeps every digit of an integer.
        print(response.status, text and json.loads(text))
except urllib.error.HTTPError as error:
    print(error.status, error.read().decode())`,
  };
}

/** Returns the samples of an operation. A group of radio buttons selects the language. */
export function requestSamples(operationId: string, method: string, path: string, basePath: string): string {
  const samples = Object.entries(samplesOf(method, path));
  const choices = samples.map(
    ([language], index) =>
      `<label><input type="radio" name="${operationId}-language" value="${language}"${index === 0 ? ' checked' : ''}>${language}</label>`,
  );
  const blocks = samples.map(
    ([language, sample]) => `<div data-language="${language}">${pre(`Request, ${language}`, sample)}</div>`,
  );
  const languages = `<span class="languages" role="radiogroup" aria-label="Language">${choices.join('')}</span>`;
  return figure('the request', languages, blocks.join('\n')).replaceAll(
    '%base%',
    `<span data-fill="base">http://127.0.0.1:8080${basePath}</span>`,
  );
}
