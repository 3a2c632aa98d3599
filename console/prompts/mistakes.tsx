import { type Mistake } from '../api/preview.ts'
import { Icon } from '../parts/icons.tsx'
import { t } from '../text/text.ts'

/**
 * Lists the mistakes and remarks of a preview, each with its place and a hint. Those about variables are left out, since the form shows
 * them beside its fields.
 */
export function Mistakes ({ mistakes }: { readonly mistakes: readonly Mistake[] }) {
  return (
    <div className='stack tight' aria-live='polite'>
      {mistakes.filter(({ path }) => path === undefined || !path.startsWith('variables')).map((mistake, index) => (
        <div key={index} className={`note ${mistake.severity === 'error' ? 'bad' : mistake.severity === 'warning' ? 'warn' : ''}`}>
          <Icon name='problems' />
          <span className='wrap'>{placeOf(mistake)}{mistake.message}{mistake.hint !== '' && <span className='hint-in'> {mistake.hint}</span>}</span>
        </div>
      ))}
    </div>
  )
}

function placeOf ({ line, column, messageIndex, part, in: partial, field }: Mistake): string {
  if (field !== undefined) return `${field}: `
  const where = partial === undefined ? messageIndex === undefined ? '' : `${t.messageNumber(messageIndex + 1)}, ` : `${partial}, `
  return `${where}${part === undefined ? '' : `${t.partNumber(part + 1)}, `}${t.lineColumn(line, column)}: `
}
