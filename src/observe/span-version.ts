/** The attributes of a span that say which content of a prompt was used: by the number of its version if there is one, otherwise by the hash of its content. */
export function spanVersion (revision: string, version: number | undefined, label: string | undefined): Readonly<Record<string, string>> {
  return {
    'gen_ai.prompt.version': version === undefined ? revision : String(version),
    ...(version === undefined ? {} : { 'prompt_shell.prompt.revision': revision }),
    ...(label === undefined ? {} : { 'prompt_shell.prompt.label': label })
  }
}
