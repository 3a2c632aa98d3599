/** Whether a key was pressed in a field, an editor, a dialog or a terminal, so that it is not a shortcut of the console. */
export function isWriting (target: EventTarget | null): boolean {
  return target instanceof HTMLElement &&
    (target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName) || target.closest('dialog, .cm-editor, .xterm') !== null)
}
