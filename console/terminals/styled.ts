/** The nonce that the page's security policy requires of `<style>` elements: https://www.w3.org/TR/CSP3/#security-nonces */
const nonce = document.querySelector<HTMLMetaElement>('meta[name=nonce]')?.content ?? ''

/** The address of the style sheet for terminals, which no other screen needs. */
const SHEET = document.querySelector<HTMLMetaElement>('meta[name=terminal-style]')?.content ?? ''

/**
 * Makes the elements that xterm.js creates obey the page's security policy, which xterm.js does not know (xtermjs/xterm.js#4445): `<style>`
 * elements get the nonce, and the styles of cells are set in a way that the policy allows to scripts.
 * @returns a function that ends this
 */
export function dressElements (): () => void {
  const { createElement } = document
  document.createElement = ((tag: string, options?: ElementCreationOptions) => dressed(createElement.call(document, tag, options))) as typeof createElement
  return () => { document.createElement = createElement }
}

function dressed (element: HTMLElement): HTMLElement {
  if (element instanceof HTMLStyleElement) element.nonce = nonce
  else if (element instanceof HTMLSpanElement) {
    element.setAttribute = (name, value) => {
      if (name === 'style') element.style.cssText = value
      else Element.prototype.setAttribute.call(element, name, value)
    }
  }
  return element
}

/** Loads the style sheet for terminals, unless it is loaded already. */
export async function loadSheet (): Promise<void> {
  if (document.querySelector('link[data-terminal]') !== null) return
  const link = document.createElement('link')
  link.rel = 'stylesheet'
  link.href = SHEET
  link.dataset['terminal'] = ''
  const loaded = new Promise<void>(resolve => { link.onload = link.onerror = () => { resolve() } })
  document.head.append(link)
  await loaded
}
