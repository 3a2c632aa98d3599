/** Whether a key alone was pressed, and in no field, editor, dialog or terminal, so that it can be a shortcut of the console. */
export function isShortcut ({ ctrlKey, metaKey, altKey, target }: KeyboardEvent): boolean {
  return !ctrlKey && !metaKey && !altKey && !(target instanceof HTMLElement &&
    (target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName) || target.closest('dialog, .cm-editor, .xterm') !== null))
}

/** The letter of a key, also where the keyboard writes another alphabet: what `s` is for, the same key does on a Russian layout. */
export function letterOf ({ key, code }: Pick<KeyboardEvent, 'key' | 'code'>): string {
  return /^[\x20-\x7e]$/.test(key) || !code.startsWith('Key') ? key : code.slice('Key'.length).toLowerCase()
}
