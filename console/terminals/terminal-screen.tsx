import { FitAddon } from '@xterm/addon-fit'
import { Terminal as Screen } from '@xterm/xterm'
import { useEffect, useRef } from 'react'
import { t } from '../text/text.ts'

/** The nonce that the page's security policy requires of `<style>` elements: https://www.w3.org/TR/CSP3/#security-nonces */
const nonce = document.querySelector<HTMLMetaElement>('meta[name=nonce]')?.content ?? ''

/** The address of the style sheet for terminals, which no other screen needs. */
const SHEET = document.querySelector<HTMLMetaElement>('meta[name=terminal-style]')?.content ?? ''

/**
 * Makes the elements that xterm.js creates obey the page's security policy, which xterm.js does not know (xtermjs/xterm.js#4445): `<style>`
 * elements get the nonce, and the styles of cells are set in a way that the policy allows to scripts.
 * @returns a function that ends this
 */
function dressElements (): () => void {
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
async function loadSheet (): Promise<void> {
  if (document.querySelector('link[data-terminal]') !== null) return
  const link = document.createElement('link')
  link.rel = 'stylesheet'
  link.href = SHEET
  link.dataset['terminal'] = ''
  const loaded = new Promise<void>(resolve => { link.onload = link.onerror = () => { resolve() } })
  document.head.append(link)
  await loaded
}

/** The number of lines above the screen to which the user can scroll back. */
const SCROLLBACK = 5000

/** The colours of a terminal. They are dark in both themes of the console, since programs choose their colours for a dark background. */
const THEME = { background: '#0c0f13', foreground: '#d5dbe3', cursor: '#d5dbe3', selectionBackground: '#2b447c' }

/** The smallest contrast of text and background (WCAG 2.2, 1.4.3). A program's colour with less contrast is changed until it can be read. */
const CONTRAST = 4.5

/**
 * The sequences by which a program asks the terminal something (device attributes, state, modes, versions, sizes; https://vt100.net/docs/vt510-rm/),
 * and the operating system commands that set a colour or ask for it.
 */
const QUESTIONS = [
  { final: 'c' }, { prefix: '>', final: 'c' }, { prefix: '=', final: 'c' }, { final: 'n' }, { prefix: '?', final: 'n' }, { final: 'x' }, { final: 't' },
  { intermediates: '$', final: 'p' }, { prefix: '?', intermediates: '$', final: 'p' }, { prefix: '>', final: 'q' }, { prefix: '?', final: 'u' }
] as const
const STRING_QUESTIONS = [{ intermediates: '$', final: 'q' }, { intermediates: '+', final: 'q' }] as const
const COLOURS = [4, 10, 11, 12] as const

/** Makes a screen answer nothing that a program asks: its answer would go the way of keys, and the program may only be `cat` with a file of others. */
function answerNothing ({ parser }: Screen): void {
  for (const question of QUESTIONS) parser.registerCsiHandler(question, () => true)
  for (const question of STRING_QUESTIONS) parser.registerDcsHandler(question, () => true)
  for (const colour of COLOURS) parser.registerOscHandler(colour, data => data.includes('?'))
}

/** The screen of a terminal, which fills its place on the page. It opens no links, sets no title and reads no clipboard. */
export function TerminalScreen (props: {
  readonly onScreen: (screen: Screen | undefined) => void
  readonly onKeys: (keys: string) => void
  readonly onSize: (cols: number, rows: number) => void
  readonly onLeave: () => void
}) {
  const place = useRef<HTMLDivElement>(null)
  const latest = useRef(props)
  latest.current = props
  useEffect(() => {
    let isGone = false
    const undress = dressElements()
    const screen = new Screen({
      scrollback: SCROLLBACK,
      theme: THEME,
      fontFamily: getComputedStyle(document.documentElement).getPropertyValue('--mono'),
      fontSize: 13,
      minimumContrastRatio: CONTRAST,
      cursorBlink: false,
      convertEol: false,
      allowProposedApi: false,
      linkHandler: { activate: () => {} }
    })
    const fit = new FitAddon()
    screen.loadAddon(fit)
    answerNothing(screen)
    screen.onData(keys => { latest.current.onKeys(keys) })
    screen.onResize(({ cols, rows }) => { latest.current.onSize(cols, rows) })
    screen.attachCustomKeyEventHandler(event => {
      if (event.type !== 'keydown' || !event.ctrlKey || event.code !== 'BracketRight') return true
      event.preventDefault()
      latest.current.onLeave()
      return false
    })
    const watcher = new ResizeObserver(() => { fit.fit() })
    void loadSheet().then(() => {
      const { current: parent } = place
      if (isGone || parent === null) return
      screen.open(parent)
      fit.fit()
      watcher.observe(parent)
      latest.current.onScreen(screen)
      screen.focus()
    })
    return () => {
      isGone = true
      watcher.disconnect()
      latest.current.onScreen(undefined)
      screen.dispose()
      undress()
    }
  }, [])
  return <section className='screen' aria-label={t.terminal}><div ref={place} className='screen-in' /></section>
}
