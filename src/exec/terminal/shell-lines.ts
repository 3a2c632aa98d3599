import { quoted } from '../shell-scripts.ts'

/** What all marks begin with: a private sequence that terminals pass over (https://invisible-island.net/xterm/ctlseqs/ctlseqs.html#h3-Operating-System-Commands). */
export const MARK = '\x1b]7717;'

/** The file with a command, and the one that puts the prompt back. */
export const [COMMAND_FILE, PROMPT_FILE] = ['a', 'b'] as const

/**
 * The line that is typed before anything is shown. It asks for a secret, which is typed then and not shown: a line may stay in the memory of a shell. From
 * then on every prompt tells a number, which the prompt itself raises, the status of the last command and the folder. A prompt that is drawn anew has
 * the number that it had. Nothing of it is exported.
 * @param name what the visible prompt begins with, of letters, digits, `_` and `-`
 */
export function setupLine (name: string): string {
  const mark = (rest: string): string => `"$(printf '\\033]7717;%s;${rest}' "$__aps_k")"`
  const words = [
    'printf \'\\033]7717;k\\007\'',
    'IFS= read -r __aps_k',
    'unset PROMPT_COMMAND PS0',
    // bash counts the columns of its line, and has to know what takes none.
    'if [ -n "$BASH_VERSION" ]; then set +o history; history -c; __aps_o=\'\\[\' __aps_c=\'\\]\'; else __aps_o= __aps_c=',
    // In a jail dash loses its exit code on the way: the group that it gives the terminal back to is not in there.
    'trap "printf \'\\033]7717;$__aps_k;x;%s\\007\' \\"\\$?\\"" EXIT; fi',
    '__aps_n=0',
    `PS1=$__aps_o${mark('p;')}'$((__aps_n=__aps_n+1));$?;$PWD'"$(printf '\\007')"$__aps_c'${name}:$PWD$ '$__aps_o${mark('e\\007')}$__aps_c`,
    '__aps_p=$PS1',
    'unset __aps_o __aps_c __aps_k'
  ]
  return ` ${words.join('; ')}\r`
}

/** The text of the file with a command. @param begin of letters and digits: what its begin mark says */
export function commandFile (command: string, begin: string): string {
  return `printf '\\033]7717;b;%s\\007' ${begin}\n${command}\n`
}

/** The text of a file that does nothing: that of a command which is not wanted any more. */
export const NOTHING = ':\n'

/** Puts the prompt back behind a command, with the command's status. `set -x` shows nothing of it. */
export const RESTORE_PROMPT = '{ __aps_s=$?; PS1=$__aps_p; } 2>/dev/null\nreturn $__aps_s\n'

/** The line that runs both files, as it is typed. */
export function runLine (command: string, prompt: string): string {
  return ` . ${quoted(command)}; . ${quoted(prompt)}\r`
}
