import { Link } from 'wouter'
import { Loaded } from '../../parts/loading.tsx'
import { Revealed } from '../../parts/reveal.tsx'
import { When } from '../../parts/when.tsx'
import { t } from '../../text/text.ts'
import { type Session } from '../follow/use-session.ts'
import { partsOf, stateOf } from '../words.ts'
import { type Tree, useTree } from './tree.ts'

/** The tab with the tree of a session: the sessions that it has started, and the sessions that these have started. */
export function TreeTab ({ session }: { readonly session: Session }) {
  return (
    <Loaded query={useTree(session)}>
      {tree => (
        <section className='panel'>
          <ul className='body sessions-tree' aria-label={t.tabTree}><Branch tree={tree} here={session.id} /></ul>
          {tree.children.length === 0 && <p className='hint inside'>{t.treeNone}</p>}
        </section>
      )}
    </Loaded>
  )
}

/** Shows one session of the tree, and below it the sessions that it has started. @param here id of the session whose page this is */
function Branch ({ tree: { id, definition, status, updatedAt, children }, here }: { readonly tree: Tree, readonly here: string }) {
  const { kind, name } = partsOf(definition)
  const { words, tone } = stateOf(status)
  return (
    <li>
      <span className='row wrap-row'>
        {id === here ? <b><Revealed text={name} /></b> : <Link href={`/sessions/${id}`} data-row><Revealed text={name} /></Link>}
        <span className='quiet'>{t.kindOf(kind)}</span>
        <span className={`chip ${tone}`}>{words}</span>
        <span className='quiet'><When at={updatedAt} /></span>
      </span>
      {children.length > 0 && <ul>{children.map(child => <Branch key={child.id} tree={child} here={here} />)}</ul>}
    </li>
  )
}
