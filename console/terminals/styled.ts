/** What the page lets styles be put into it by: https://www.w3.org/TR/CSP3/#security-nonces */
const nonce = document.querySelector<HTMLMetaElement>('meta[name=nonce]')?.content ?? ''

/** The style sheet of terminals, which no other screen needs. */
const SHEET = document.querySelector<HTMLMetaElement>('meta[name=terminal-style]')?.content ?? ''

/** A document whose `<style>` elements have the page's nonce: xterm.js makes some, and knows of no policy. */
export function documentWithNonce (): Document {
  return new Proxy(document, {
    get (target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (name === 'createElement') {
        return (tag: string): HTMLElement => {
          const element = target.createElement(tag)
          if (tag === 'style') element.nonce = nonce
          return element
        }
      }
      return typeof value === 'function' ? (value as (...given: unknown[]) => unknown).bind(target) : value
    }
  })
}

/** Loads the style sheet, once. */
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
