import { quoted } from '../shell-scripts.ts'

/**
 * The first characters of every mark (an escape sequence by which the shell reports its state): a private operating system command, which
 * terminals ignore (https://invisible-island.net/xterm/ctlseqs/ctlseqs.html#h3-Operating-System-Commands).
 */
export const MARK = '\x1b]7717;'

/** The names of two files: the first contains a command, the second restores the prompt after the command. */
export const [COMMAND_FILE, PROMPT_FILE] = ['a', 'b'] as const

/**
 * The setup line, which is typed into a new shell before any output of the shell is shown. It makes the shell ask for a secret, which shows
 * later that a report comes from the shell. The secret is typed separately, since a line can stay in the memory of a shell. After that,
 * every prompt reports a number (which the prompt itself increments) and the status of the last command. A redrawn prompt has the same number again.
 * The folder is no part of a report: its name may hold any character, and `$PWD` any text. No variable that the shell has for this is exported.
 * @param name the beginning of the visible prompt: letters, digits, `_` and `-`
 */
export function setupLine (name: string): string {
  const mark = (rest: string): string => `"$(printf '\\033]7717;%s;${rest}' "$__aps_k")"`
  const words = [
    'printf \'\\033]7717;k\\007\'',
    'IFS= read -r __aps_k',
    'unset PROMPT_COMMAND PS0',
    // bash counts the columns of its line. `\[` and `\]` tell it which text takes no column.
    'if [ -n "$BASH_VERSION" ]; then set +o history; history -c; __aps_o=\'\\[\' __aps_c=\'\\]\'; else __aps_o= __aps_c=',
    // In a sandbox the exit code of dash gets lost, because dash returns the terminal to a process group outside the sandbox. So a mark
    // reports the code.
    'trap "printf \'\\033]7717;$__aps_k;x;%s\\007\' \\"\\$?\\"" EXIT; fi',
    '__aps_n=0',
    `PS1=$__aps_o${mark('p;')}'$((__aps_n=__aps_n+1));$?'"$(printf '\\007')"$__aps_c'${name}:$PWD$ '$__aps_o${mark('e\\007')}$__aps_c`,
    '__aps_p=$PS1',
    'unset __aps_o __aps_c __aps_k'
  ]
  return ` ${words.join('; ')}\r`
}

/** The text of the file that contains a command. @param begin the id, of letters and digits, by which the file reports that the command begins */
export function commandFile (command: string, begin: string): string {
  return `printf '\\033]7717;b;%s\\007' ${begin}\n${command}\n`
}

/** The text of a command file that does nothing. It replaces the file of a command that is not wanted any more. */
export const NOTHING = ':\n'

/** The text of the file that restores the prompt after a command, and passes on the command's status. With `set -x`, the shell prints none of it. */
export const RESTORE_PROMPT = '{ __aps_s=$?; PS1=$__aps_p; } 2>/dev/null\nreturn $__aps_s\n'

/** The line that is typed to run a command's two files. @param command path of the command file @param prompt path of the prompt file */
export function runLine (command: string, prompt: string): string {
  return ` . ${quoted(command)}; . ${quoted(prompt)}\r`
}
