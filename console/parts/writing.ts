/** Whether a key belongs to what somebody writes, and to nothing else. */
export function isWriting (target: EventTarget | null): boolean {
  return target instanceof HTMLElement &&
    (target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName) || target.closest('dialog, .cm-editor, .xterm') !== null)
}
