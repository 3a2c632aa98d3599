/**
 * Help in the tags of a template: a list of the names that fit while a tag is typed, and what a name is, at the mouse and by key. What is
 * registered is read once, and again only after the service has said that it changed.
 */
import { type EditorState, type Extension, Prec, StateEffect, StateField, type Transaction } from '@codemirror/state'
import { EditorView, keymap, ViewPlugin, type ViewUpdate } from '@codemirror/view'
import type { Syntax } from '../prompts/entry.ts'
import { t } from '../text/text.ts'
import type { Registry } from './registry.ts'
import { type Place, placeAround, placeBefore } from './template-place.ts'
import { callOf, environOf, memberAt, nameAt, type Named, type Option, optionsAt, type PromptNames } from './template-names.ts'

/** A list of names that is open. */
interface Completion {
  readonly kind: 'list'
  readonly place: Place
  readonly options: readonly Option[]
  readonly selected: number
  readonly isExplicit: boolean
}

/** What a name is: the one between these offsets. */
interface About { readonly kind: 'about', readonly from: number, readonly to: number, readonly isByKey: boolean }

type Help = Completion | About | null

const show = StateEffect.define<About | 'list' | null>()
const select = StateEffect.define<number>()
/** What is registered has been read, or could not be. */
const listsRead = StateEffect.define()

/** By itself, a list of arguments opens only when a name has been begun, or right after the word of a block. */
const AFTER_BLOCK = /\{\{~?#(?:if|unless|each|with)\s+$/

/**
 * @param read gives what is known of the prompt, anew each time: the form and the preview change without the editor
 * @param registry what is registered; it is given, since a chunk of code that imports it would tear other chunks apart
 */
export function assist (read: () => { readonly syntax: Syntax, readonly names: PromptNames }, registry: Registry): Extension {
  function listAt (state: EditorState, isExplicit: boolean): Completion | null {
    const { head, empty } = state.selection.main
    const { syntax, names } = read()
    const text = state.doc.toString()
    const place = empty && !state.readOnly ? placeBefore(text, head, syntax) : undefined
    if (place === undefined) return null
    const options = optionsAt(place, text, syntax, { ...names, ...registry.now() })
    if (!isExplicit) {
      if (place.text === '' && place.role === 'value' && !AFTER_BLOCK.test(text.slice(Math.max(0, head - 20), head))) return null
      // What stands there in full needs no list, which would take the Enter key.
      if ((options.length === 0 && !registry.isReading()) || (place.text !== '' && options[0]?.insert.trim() === place.text)) return null
    }
    return { kind: 'list', place, options, selected: 0, isExplicit }
  }

  const help = StateField.define<Help>({
    create: () => null,
    update: (before, transaction) => transaction.effects.reduce((now, effect) => {
      if (effect.is(show)) return effect.value === 'list' ? listAt(transaction.state, true) : effect.value
      if (now?.kind !== 'list') return now
      if (effect.is(select)) return { ...now, selected: effect.value }
      return effect.is(listsRead) ? withSelected(listAt(transaction.state, now.isExplicit), now) : now
    }, afterTyping(before, transaction)),
    provide: field => EditorView.contentAttributes.from(field, (now): Record<string, string> => now?.kind !== 'list' || now.options.length === 0
      ? { 'aria-autocomplete': 'list' }
      : { 'aria-autocomplete': 'list', 'aria-haspopup': 'listbox', 'aria-controls': LIST_ID, 'aria-activedescendant': idOf(now.selected) })
  })

  function afterTyping (before: Help, transaction: Transaction): Help {
    const { state, docChanged, selection } = transaction
    if (!docChanged) return selection === undefined ? before : null
    return transaction.isUserEvent('input.type') || (before?.kind === 'list' && transaction.isUserEvent('delete')) ? listAt(state, false) : null
  }

  function accept (view: EditorView, index?: number): boolean {
    const open = view.state.field(help)
    const option = open?.kind === 'list' ? open.options[index ?? open.selected] : undefined
    if (open?.kind !== 'list' || option === undefined) return false
    const { from, isQuoted } = open.place
    const { head } = view.state.selection.main
    const rest = view.state.sliceDoc(head, view.state.doc.lineAt(head).to)
    // A partial in Go gets the dot, unless something follows its name.
    const argument = option.kind === 'partial' && read().syntax === 'go' && /^["'`]?\s*(?:-?\}\}|$)/.test(rest) ? ' .' : ''
    const insert = (rest.startsWith(' ') ? option.insert.trimEnd() : option.insert) + argument
    view.dispatch({
      changes: { from, to: head + (isQuoted && /^["'`]/.test(rest) ? 1 : 0), insert },
      selection: { anchor: from + insert.length },
      userEvent: 'input.complete',
      scrollIntoView: true
    })
    return true
  }

  const move = (step: number) => (view: EditorView): boolean => {
    const open = view.state.field(help)
    if (open?.kind !== 'list' || open.options.length === 0) return false
    const count = open.options.length
    const isOne = Math.abs(step) === 1
    view.dispatch({ effects: select.of(isOne ? (open.selected + step + count) % count : Math.max(0, Math.min(count - 1, open.selected + step))) })
    return true
  }

  function leave (view: EditorView): boolean {
    if (view.state.field(help) === null) return false
    view.dispatch({ effects: show.of(null) })
    return true
  }

  function complete (view: EditorView): boolean {
    view.dispatch({ effects: show.of('list') })
    if (view.state.field(help) === null) view.dispatch({ effects: EditorView.announce.of(t.noNamesHere) })
    return true
  }

  function placeIn ({ doc }: EditorState, offset: number): Place | undefined {
    return placeAround(doc.toString(), offset, read().syntax)
  }

  function namedBy ({ doc }: EditorState, place: Place | undefined): Named | undefined {
    const { syntax, names } = read()
    return place && nameAt(place, doc.toString(), syntax, { ...names, ...registry.now() })
  }

  function tell (view: EditorView): boolean {
    const { head } = view.state.selection.main
    const { from, to } = placeIn(view.state, head) ?? { from: head, to: head }
    view.dispatch({ effects: show.of({ kind: 'about', from, to, isByKey: true }) })
    return true
  }

  const box = ViewPlugin.define(view => new Box(view, help, registry, {
    pick: index => { accept(view, index) },
    move: step => { move(step)(view) },
    nameAt: offset => namedBy(view.state, placeIn(view.state, offset))
  }))

  const mouse = EditorView.domEventHandlers({
    blur: (_, view) => { leave(view) },
    mousemove: ({ clientX: x, clientY: y }, view) => {
      const now = view.state.field(help)
      if (now?.kind === 'list' || (now?.kind === 'about' && now.isByKey)) return
      const offset = offsetUnder(view, x, y)
      if (now !== null && offset !== null && offset >= now.from && offset <= now.to) return
      if (now !== null) leave(view)
      view.plugin(box)?.wait(offset === null
        ? undefined
        : () => {
            const place = placeIn(view.state, offset)
            if (place === undefined || namedBy(view.state, place) === undefined) return
            view.dispatch({ effects: show.of({ kind: 'about', from: place.from, to: place.to, isByKey: false }) })
          })
    },
    mouseleave: ({ relatedTarget }, view) => { view.plugin(box)?.left(relatedTarget) }
  })

  return [
    LOOK,
    Prec.highest(keymap.of([
      { key: 'ArrowDown', run: move(1) },
      { key: 'ArrowUp', run: move(-1) },
      { key: 'PageDown', run: move(8) },
      { key: 'PageUp', run: move(-8) },
      { key: 'Enter', run: view => accept(view) },
      { key: 'Escape', run: leave },
      { key: 'Ctrl-Space', run: complete },
      { key: 'Mod-i', run: tell }
    ])),
    help,
    box,
    mouse
  ]
}

/** The list that replaces another one, with the same name selected, if it has it. */
function withSelected (next: Completion | null, before: Completion): Completion | null {
  const { kind, name } = before.options[before.selected] ?? {}
  return next && { ...next, selected: Math.max(0, next.options.findIndex(option => option.kind === kind && option.name === name)) }
}

/** The offset of the character under the mouse; `null` beside the text. */
function offsetUnder (view: EditorView, x: number, y: number): number | null {
  const offset = view.posAtCoords({ x, y })
  const at = offset === null ? null : view.coordsAtPos(offset)
  if (at === null || y < at.top || y > at.bottom || Math.abs(x - at.left) > 2 * view.defaultCharacterWidth) return null
  return offset
}

/** How long the mouse must rest on a name before it is told what it is, and a name be selected before its value is asked for, in ms. */
const REST = 300
const PASSING = 150

const LIST_ID = 'names-that-fit'
const idOf = (index: number) => `${LIST_ID}-${index}`

/** How many rows of the list are shown at once, around the selected one. A list that scrolled would have to be reached by the Tab key. */
const ROWS = 8

/** The rules of the box; they are here, and not in the style of all screens, so that only who writes prompts loads them. */
const LOOK = EditorView.baseTheme({
  '.help-box': {
    position: 'fixed',
    zIndex: 20,
    width: 'max-content',
    maxWidth: 'min(460px, calc(100vw - 16px))',
    background: 'var(--panel)',
    border: '1px solid var(--line-strong)',
    borderRadius: 'var(--radius)',
    font: '12.5px/18px var(--sans)'
  },
  '.help-box [role=listbox]': { width: 'min(460px, calc(100vw - 18px))', padding: 'var(--s1)' },
  '.help-box li': { display: 'flex', gap: 'var(--s3)', alignItems: 'center', padding: '2px var(--s2)', borderRadius: 'var(--radius)', cursor: 'pointer' },
  '.help-box li[aria-selected=true]': { background: 'var(--accent-soft)' },
  '@media (pointer: coarse)': { '.help-box li': { minHeight: '40px' } },
  '.help-box > p': { padding: 'var(--s1) var(--s3)' },
  '.help-box .facts-of': { padding: 'var(--s2) var(--s3)' },
  '.help-box .facts-of:not(:first-child)': { borderTop: '1px solid var(--line)' },
  '.help-box .facts-of p + p': { marginTop: 'var(--s1)' }
})

interface Calls {
  readonly pick: (index: number) => void
  readonly move: (step: number) => void
  readonly nameAt: (offset: number) => Named | undefined
}

/** The box below a name, or above it, in which the help is shown. */
class Box {
  readonly #dom = element('div', 'help-box')
  readonly #view: EditorView
  readonly #help: StateField<Help>
  readonly #registry: Registry
  readonly #calls: Calls
  readonly #follow = () => { this.#place() }
  readonly #sizes = new ResizeObserver(this.#follow)
  #facts: { readonly of: string, readonly dom: HTMLElement } | undefined
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor (view: EditorView, help: StateField<Help>, registry: Registry, calls: Calls) {
    this.#view = view
    this.#help = help
    this.#registry = registry
    this.#calls = calls
    view.dom.append(this.#dom)
    this.#dom.hidden = true
    // The editor keeps the focus.
    this.#dom.addEventListener('mousedown', event => { event.preventDefault() })
    this.#dom.addEventListener('wheel', event => {
      if (view.state.field(help)?.kind !== 'list') return
      event.preventDefault()
      calls.move(Math.sign(event.deltaY))
    }, { passive: false })
    this.#dom.addEventListener('mouseleave', ({ relatedTarget }) => { this.left(relatedTarget) })
    this.#sizes.observe(this.#dom)
    addEventListener('scroll', this.#follow, { capture: true, passive: true })
    addEventListener('resize', this.#follow)
  }

  update ({ state, startState }: ViewUpdate): void {
    const now = state.field(this.#help)
    const before = startState.field(this.#help)
    if (now === before) return
    clearTimeout(this.#timer)
    this.#draw(now)
    if (now === null || now.kind === before?.kind) return
    void this.#registry.read().then(() => {
      if (!this.#dom.isConnected) return
      this.#view.dispatch({ effects: listsRead.of(null) })
      const then = this.#view.state.field(this.#help)
      if (then?.kind === 'about') this.#draw(then)
    })
  }

  destroy (): void {
    clearTimeout(this.#timer)
    this.#sizes.disconnect()
    removeEventListener('scroll', this.#follow, { capture: true })
    removeEventListener('resize', this.#follow)
    this.#dom.remove()
  }

  /** Calls the function when the mouse has come to rest. */
  wait (act: (() => void) | undefined): void {
    clearTimeout(this.#timer)
    if (act !== undefined) this.#timer = setTimeout(act, REST)
  }

  /** The mouse has left the text or the box, for what it is on now. */
  left (target: EventTarget | null): void {
    clearTimeout(this.#timer)
    const now = this.#view.state.field(this.#help)
    if (now?.kind !== 'about' || now.isByKey || (target instanceof Node && this.#view.dom.contains(target))) return
    this.#view.dispatch({ effects: show.of(null) })
  }

  #draw (now: Help): void {
    this.#dom.hidden = now === null
    if (now?.kind !== 'about') this.#dom.removeAttribute('role')
    else this.#dom.setAttribute('role', 'tooltip')
    this.#dom.replaceChildren(...now === null ? [] : now.kind === 'list' ? this.#list(now) : this.#about(now))
    this.#place()
  }

  #list ({ options, selected }: Completion): readonly HTMLElement[] {
    const first = Math.max(0, Math.min(selected - ROWS / 2, options.length - ROWS))
    const rows = options.slice(first, first + ROWS).map(({ kind, name }, index) => {
      const at = first + index
      const row = element('li', '', element('code', 'cut grow', ...revealed(name, this.#registry)), element('span', 'quiet nowrap', t.kindOfName(kind)))
      const place = { 'aria-setsize': String(options.length), 'aria-posinset': String(at + 1) }
      set(row, { id: idOf(at), role: 'option', 'aria-selected': String(at === selected), ...place })
      row.addEventListener('click', () => { this.#calls.pick(at) })
      return row
    })
    const list = set(element('ul', '', ...rows), { role: 'listbox', id: LIST_ID, 'aria-label': t.namesThatFit })
    const option = options[selected]
    const isReading = this.#registry.isReading()
    const count = element('p', 'quiet num', t.optionOf(selected + 1, options.length))
    count.addEventListener('click', () => { this.#calls.move(ROWS) })
    return [
      ...rows.length > 0 ? [list] : [],
      ...options.length > ROWS ? [count] : [],
      ...isReading || rows.length === 0 ? [set(element('p', 'quiet', isReading ? t.loading : t.noNamesHere), { role: 'status' })] : [],
      ...this.#unread(),
      ...option === undefined ? [] : [this.#factsOf(option)]
    ]
  }

  /** The facts of the selected name stay while the list changes around it. */
  #factsOf (option: Option): HTMLElement {
    const of = `${option.kind} ${option.name}`
    if (this.#facts?.of !== of) this.#facts = { of, dom: facts(option, this.#registry, PASSING, () => {}) }
    return this.#facts.dom
  }

  #about ({ from, isByKey, to }: About): readonly HTMLElement[] {
    const announce = (dom: HTMLElement) => { if (isByKey && dom.isConnected) this.#view.dispatch({ effects: EditorView.announce.of(dom.innerText) }) }
    if (this.#registry.isReading()) return [element('p', 'quiet', t.loading)]
    const named = this.#calls.nameAt(to)
    const dom = named === undefined || from === to
      ? element('p', 'quiet', t.noNameHere)
      : facts(named, this.#registry, 0, () => { announce(dom) })
    if (dom.tagName === 'P') setTimeout(() => { announce(dom) })
    return [dom, ...this.#unread()]
  }

  #place (): void {
    const now = this.#view.state.field(this.#help)
    if (now === null) return
    const offset = Math.min(now.kind === 'list' ? now.place.from : now.from, this.#view.state.doc.length)
    this.#view.requestMeasure({
      key: this,
      read: view => ({ at: view.coordsAtPos(offset), inside: view.scrollDOM.getBoundingClientRect(), box: this.#dom.getBoundingClientRect() }),
      write: ({ at, inside, box: { height, width } }) => {
        const isSeen = at !== null && at.bottom > inside.top && at.top < inside.bottom
        this.#dom.style.visibility = isSeen ? '' : 'hidden'
        if (!isSeen) return
        const isAbove = at.bottom + height > innerHeight && at.top > height
        this.#dom.style.top = `${isAbove ? at.top - height : at.bottom}px`
        this.#dom.style.left = `${Math.max(8, Math.min(at.left, innerWidth - width - 8))}px`
      }
    })
  }

  /** Tells which lists could not be read, so that names of them are missing. */
  #unread (): readonly HTMLElement[] {
    const failed = this.#registry.unread().map(name => t.listOfNames(name))
    return failed.length === 0 ? [] : [element('p', 'hint bad', t.notRead(failed.join(', ')))]
  }
}

/**
 * What a name is, its description, and its value now. @param patience how long it must be shown before its value is asked for, in ms
 * @param onReady called when all of it is there
 */
function facts (named: Named, registry: Registry, patience: number, onReady: () => void): HTMLElement {
  const { kind, name, value, by } = named
  const told = descriptionOf(named)
  const call = kind === 'function' ? callOf(name) : name
  const dom = element(
    'div',
    'facts-of',
    element('p', 'wrap', element('code', '', ...revealed(call, registry)), ' ', element('span', 'quiet', t.kindOfName(kind))),
    ...told === '' ? [] : cut(told, 'wrap', registry),
    ...by === undefined ? [] : [element('p', 'quiet', t.madeByTag(by.line)), ...cut(by.tag, 'pre mono', registry)],
    ...value === undefined ? [] : valueNow(t.valueFrom(value.from), value.now, t.valueNotGiven, registry)
  )
  if (kind === 'shared') showServed(dom, name, registry, patience, onReady)
  else setTimeout(onReady)
  return dom
}

function descriptionOf ({ kind, name, description = '' }: Named): string {
  if (kind === 'unknown') return t.unknownName
  return kind === 'function' || kind === 'word' ? t.functionHelp(name) || t.wordHelp(name.replace(/^[#/]/, '')) : description
}

/** Adds the value of a shared variable, as the service gives it to the caller. */
function showServed (dom: HTMLElement, name: string, registry: Registry, patience: number, onReady: () => void): void {
  const { id, rest } = environOf(name, registry.now().environs)
  const value = element('div', '', set(element('p', 'quiet', t.loading), { role: 'status' }))
  dom.append(value)
  const tell = (...parts: readonly HTMLElement[]) => {
    value.replaceChildren(...parts)
    onReady()
  }
  setTimeout(() => {
    if (!value.isConnected) return
    registry.valueOf(id).then(
      served => { tell(...valueNow(t.valueServed, memberAt(served, rest), t.valueNone, registry)) },
      (error: unknown) => { tell(element('p', 'hint bad wrap', t.valueNotRead(registry.reasonOf(error)))) }
    )
  }, patience)
}

function valueNow (label: string, value: unknown, none: string, registry: Registry): readonly HTMLElement[] {
  if (value === undefined) return [element('p', 'quiet', none)]
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text === '' ? [element('p', 'quiet', `${label} ${t.emptyText}`)] : [element('p', 'quiet', label), ...cut(text, 'pre mono', registry)]
}

/** In UTF-16 units: so much of a text is shown. */
const MOST = 300

/** The beginning of a text of strangers, and how much of it that is. */
function cut (text: string, className: string, registry: Registry): readonly HTMLElement[] {
  const shown = element('p', className, ...revealed(text.slice(0, MOST), registry))
  return text.length > MOST ? [shown, element('p', 'hint', t.valueCut(MOST, text.length))] : [shown]
}

/** A text with its hidden characters made visible. */
function revealed (text: string, { nameOf, odditiesOf }: Registry): ReadonlyArray<Node | string> {
  const parts: Array<Node | string> = []
  let end = 0
  for (const { at, text: odd, isHidden } of odditiesOf(text)) {
    parts.push(text.slice(end, at), isHidden
      ? set(element('span', 'odd', nameOf(odd)), { role: 'img', 'aria-label': t.hiddenCharacter(nameOf(odd)) })
      : set(element('span', 'odd', odd), { title: t.mixedWord }))
    end = at + odd.length
  }
  return [...parts, text.slice(end)]
}

function element (tag: string, className: string, ...children: ReadonlyArray<Node | string>): HTMLElement {
  const made = document.createElement(tag)
  made.className = className
  made.append(...children)
  return made
}

function set (made: HTMLElement, attributes: Readonly<Record<string, string>>): HTMLElement {
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value)
  return made
}
