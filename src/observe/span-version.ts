/** Gives the attributes of a span that say which content of a prompt was used: by the number of the prompt's version or, without one, by a hash. */
export function spanVersion (revision: string, version: number | undefined, label: string | undefined): Readonly<Record<string, string>> {
  return {
    'gen_ai.prompt.version': version === undefined ? revision : String(version),
    ...(version === undefined ? {} : { 'prompt_shell.prompt.revision': revision }),
    ...(label === undefined ? {} : { 'prompt_shell.prompt.label': label })
  }
}
