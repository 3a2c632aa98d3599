/** Commands of a page, with what the page shows them to print. */
export interface PageCommand { readonly script: string, readonly output: string | undefined }

/** The shell blocks of a page that call the service, each with the block of output right below it, if there is one. */
export function commandsIn (page: string): PageCommand[] {
  return Array.from(page.matchAll(/^```sh\n(.*?)^```\n(?:\n```(?:json)?\n(.*?)^```$)?/gms), ([, script = '', output]) => ({ script, output }))
    .filter(({ script }) => /\bcurl\b/.test(script))
}

/** Headers that a page shows, and the reply's JSON, without what is new in every reply. */
export function comparable (text: string, shown: string): unknown {
  const lines = text.replaceAll('\r', '').trim().split('\n')
  const body = lines.findIndex(line => /^[[{]/.test(line))
  const names = Array.from(shown.matchAll(/^([a-z-]+): /gm), ([, name]) => name as string)
  const headers = lines.slice(0, Math.max(0, body)).filter(line => line.startsWith('HTTP/') || names.includes(line.split(':', 1)[0] ?? ''))
  return { headers, body: JSON.parse(lines.slice(body).join('\n'), (key, value: unknown) => key === 'requestId' ? 'any' : value) as unknown }
}
