import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { listExtensions, words } from '../api/listings.ts'
import { Empty } from '../parts/empty.tsx'
import { Loaded } from '../parts/loading.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { Revealed } from '../parts/reveal.tsx'
import { Table } from '../parts/table.tsx'
import { t } from '../text/text.ts'

/** The page with all extensions. An extension brings prompts and other entries under one name. */
export function ExtensionsPage () {
  const query = useQuery({ queryKey: ['registry', 'extensions'], queryFn: listExtensions })
  return (
    <>
      <PageTitle title={t.extensions} note={t.extensionsNote} />
      <Loaded query={query}>
        {rows => rows.length === 0
          ? <Empty title={t.extensionsNone}>{t.extensionsNoneNext}</Empty>
          : (
            <Table columns={[t.extension, [t.description, 'wide'], t.state, [t.version, 'wide'], [t.prompts, 'right']]}>
              {rows.map(({ id, description, displayName, state, version, prompts }) => (
                <tr key={id}>
                  <td><Link href={`/extensions/${encodeURIComponent(id)}`} data-row><Revealed text={id} /></Link></td>
                  <td className='wide quiet cut limited'><Revealed text={words(description ?? displayName)} /></td>
                  <td><span className={state === 'active' ? 'chip' : 'chip bad'}>{state}</span></td>
                  <td className='wide quiet num'>{version}</td>
                  <td className='right num'>{prompts.length}</td>
                </tr>
              ))}
            </Table>
            )}
      </Loaded>
    </>
  )
}
