import { Fragment, type ReactNode, useMemo, useState } from 'react'
import { t } from '../text/text.ts'
import { CopyButton } from './copy-button.tsx'
import { type Block, type Inline, parseMarkdown } from './markdown.ts'
import { Revealed } from './reveal.tsx'

/**
 * Shows what a model has written: JSON as a tree, all else as Markdown. Nothing of it is loaded or run: HTML is text, and a picture is a
 * link to it. Each link shows where it leads.
 */
export function AnswerText ({ text }: { readonly text: string }) {
  const json = useMemo(() => jsonIn(text), [text])
  const blocks = useMemo(() => json === undefined ? parseMarkdown(text) : [], [json, text])
  return <div className='answer'>{json === undefined ? <Blocks blocks={blocks} /> : <JsonTree value={json.value} />}</div>
}

function Blocks ({ blocks }: { readonly blocks: readonly Block[] }) {
  return <>{blocks.map((block, index) => <BlockView key={index} block={block} />)}</>
}

/** The title of what has the answer is a heading of the third level at most. */
const LEVEL = 3

function BlockView ({ block }: { readonly block: Block }) {
  switch (block.kind) {
    case 'heading': {
      const Heading = `h${Math.min(block.level + LEVEL, 6)}` as 'h4'
      return <Heading><Inlines inlines={block.inlines} /></Heading>
    }
    case 'paragraph': return <p><Inlines inlines={block.inlines} /></p>
    case 'code': return <Code language={block.language} text={block.text} />
    case 'quote': return <blockquote><Blocks blocks={block.blocks} /></blockquote>
    case 'list': {
      const items = block.items.map((blocks, index) => <li key={index}><Blocks blocks={blocks} /></li>)
      return block.start === undefined ? <ul>{items}</ul> : <ol start={block.start}>{items}</ol>
    }
    case 'table': return (
      <div className='scrolled' tabIndex={0} role='group' aria-label={t.tableOfAnswer}>
        <table>
          <thead><tr>{block.heads.map((head, index) => <th key={index} scope='col'><Inlines inlines={head} /></th>)}</tr></thead>
          <tbody>
            {block.rows.map((row, index) => <tr key={index}>{row.map((cell, at) => <td key={at}><Inlines inlines={cell} /></td>)}</tr>)}
          </tbody>
        </table>
      </div>
    )
    case 'rule': return <hr />
  }
}

function Inlines ({ inlines }: { readonly inlines: readonly Inline[] }): ReactNode {
  return inlines.map((inline, index) => <Fragment key={index}><InlineView inline={inline} /></Fragment>)
}

function InlineView ({ inline }: { readonly inline: Inline }): ReactNode {
  if (typeof inline === 'string') return <Revealed text={inline} />
  switch (inline.kind) {
    case 'code': return <code><Revealed text={inline.text} /></code>
    case 'emphasis': return <em><Inlines inlines={inline.inlines} /></em>
    case 'strong': return <strong><Inlines inlines={inline.inlines} /></strong>
    case 'struck': return <s><Inlines inlines={inline.inlines} /></s>
    default: {
      const { kind, address, inlines } = inline
      const isShown = inlines.length === 1 && (inlines[0] === address || `${String(inlines[0])}/` === address)
      return (
        <>
          {kind === 'picture' && <span className='quiet'>{t.picture} </span>}
          <a href={address} target='_blank' rel='noopener noreferrer nofollow'>{inlines.length === 0 ? address : <Inlines inlines={inlines} />}</a>
          {!isShown && inlines.length > 0 && <span className='quiet'> ({address})</span>}
        </>
      )
    }
  }
}

function Code ({ language, text }: { readonly language: string, readonly text: string }) {
  const json = useMemo(() => language.toLowerCase() === 'json' ? jsonIn(text) : undefined, [language, text])
  return (
    <div className='code'>
      <header><span className='quiet'><Revealed text={language} /></span><span className='grow' /><CopyButton text={text} /></header>
      {json === undefined ? <pre tabIndex={0} aria-label={t.codeOf(language)}><Revealed text={text} /></pre> : <JsonTree value={json.value} />}
    </div>
  )
}

/** A number of a JSON text, with all its digits. */
class Digits {
  readonly text: string

  constructor (text: string) {
    this.text = text
  }
}

/** The object or list that a text is; `undefined` for any other text, also for a number or a word alone. */
function jsonIn (text: string): { readonly value: object } | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined
  try {
    // A browser that does not give the source yet shows a large number as it has read it.
    const withDigits = (_name: string, value: unknown, context?: { readonly source?: string }) =>
      typeof value === 'number' ? new Digits(context?.source ?? String(value)) : value
    return { value: JSON.parse(text, withDigits) as object }
  } catch {
    return undefined
  }
}

/** How many levels are open at first, and how many members of a level are shown at once. */
const OPEN = 2
const MEMBERS = 100

function JsonTree ({ value }: { readonly value: object }) {
  return <div className='json'><Value value={value} depth={0} /></div>
}

function Value ({ value, name, depth }: { readonly value: unknown, readonly name?: string, readonly depth: number }) {
  const title = name === undefined ? null : <><span className='tok-propertyName'><Revealed text={name} /></span>: </>
  if (value instanceof Digits) return <div>{title}<span className='tok-number'>{value.text}</span></div>
  if (typeof value === 'string') return <div>{title}<span className='tok-string'>&quot;<Revealed text={value} />&quot;</span></div>
  if (typeof value !== 'object' || value === null) return <div>{title}<span className='tok-keyword'>{String(value)}</span></div>
  return <Members value={value} title={title} depth={depth} />
}

/** Its members are made when it is opened, since a tree may be deeper and wider than a page can show. */
function Members ({ value, title, depth }: { readonly value: object, readonly title: ReactNode, readonly depth: number }) {
  const [isOpen, setOpen] = useState(depth < OPEN)
  const [most, setMost] = useState(MEMBERS)
  const members = Object.entries(value)
  const isList = Array.isArray(value)
  if (members.length === 0) return <div>{title}{isList ? '[]' : '{}'}</div>
  return (
    <details open={isOpen} onToggle={event => { setOpen(event.currentTarget.open) }}>
      <summary>{title}<span className='quiet'>{isList ? `[${members.length}]` : `{${members.length}}`}</span></summary>
      {isOpen && members.slice(0, most).map(([name, member]) => <Value key={name} name={name} value={member} depth={depth + 1} />)}
      {isOpen && members.length > most && (
        <button type='button' className='button plain small' onClick={() => { setMost(most + MEMBERS) }}>{t.showMore}</button>
      )}
    </details>
  )
}
