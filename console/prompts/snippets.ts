/** What a program needs to call a prompt. */
export interface Call {
  /** The address of the service, without a slash at its end. */
  readonly origin: string
  /** With the label behind it, if one was chosen: `greet@production`. */
  readonly id: string
  readonly variables: Readonly<Record<string, unknown>>
  /** Whether the service asks for tokens: each call then reads one from the environment variable `PROMPT_TOKEN`. */
  readonly hasTokens: boolean
}

/** Programs that call a prompt as they stand, each under the name of its language or client. */
export const SNIPPETS: Readonly<Record<string, (call: Call) => string>> = {
  curl: ({ origin, id, variables, hasTokens }) => [
    '# The prompt, rendered:',
    curl(`${origin}/api/render/prompts/${encodeURIComponent(id)}`, { variables }, hasTokens),
    '',
    '# The answer of a model:',
    curl(`${origin}/api/chat/prompts/${encodeURIComponent(id)}`, { variables }, hasTokens)
  ].join('\n'),

  Python: ({ origin, id, variables, hasTokens }) => `import json, ${hasTokens ? 'os, ' : ''}urllib.request

request = urllib.request.Request(
    ${JSON.stringify(`${origin}/api/render/prompts/${encodeURIComponent(id)}`)},
    data=json.dumps({"variables": json.loads(${pythonText(variables)})}).encode(),
    headers={"content-type": "application/json"${hasTokens ? ', "authorization": "Bearer " + os.environ["PROMPT_TOKEN"]' : ''}},
)
print(json.load(urllib.request.urlopen(request))["rendered_prompt"])`,

  TypeScript: ({ origin, id, variables, hasTokens }) => `import { createClient } from 'ai-prompt-shell/client'

const prompts = createClient({ url: ${JSON.stringify(origin)}${hasTokens ? ', token: process.env.PROMPT_TOKEN' : ''} })
const { prompt } = await prompts.render(${JSON.stringify(id)}, ${JSON.stringify(variables)})
console.log(prompt)
for await (const piece of await prompts.chat(${JSON.stringify(id)}, ${JSON.stringify(variables)})) process.stdout.write(piece)`,

  'OpenAI client': ({ origin, id, variables, hasTokens }) => `from openai import OpenAI
${hasTokens ? 'import json, os' : 'import json'}

client = OpenAI(base_url=${JSON.stringify(`${origin}/v1`)}, api_key=${hasTokens ? 'os.environ["PROMPT_TOKEN"]' : '"none"'})
answer = client.chat.completions.create(
    model=${JSON.stringify(`prompt:${id}`)},
    messages=[],
    extra_body={"variables": json.loads(${pythonText(variables)})},
)
print(answer.choices[0].message.content)`,

  MCP: ({ origin, hasTokens }) => JSON.stringify({
    mcpServers: { prompts: { type: 'http', url: `${origin}/mcp`, ...hasTokens ? { headers: { Authorization: 'Bearer TOKEN' } } : {} } }
  }, null, 2)
}

/** JSON escapes nothing that Python reads otherwise, so a text of JSON is one of Python. */
function pythonText (value: unknown): string {
  return JSON.stringify(JSON.stringify(value))
}

function curl (address: string, body: unknown, hasTokens: boolean): string {
  const token = hasTokens ? ' -H "authorization: Bearer $PROMPT_TOKEN"' : ''
  return `curl -s ${address}${token} -H 'content-type: application/json' -d '${JSON.stringify(body).replaceAll('\'', '\'\\\'\'')}'`
}
