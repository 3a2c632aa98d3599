/** What a prompt is, for a span: by its number where it is a version, else by its revision. */
export function spanVersion (revision: string, version: number | undefined, label: string | undefined): Readonly<Record<string, string>> {
  return {
    'gen_ai.prompt.version': version === undefined ? revision : String(version),
    ...(version === undefined ? {} : { 'prompt_shell.prompt.revision': revision }),
    ...(label === undefined ? {} : { 'prompt_shell.prompt.label': label })
  }
}
