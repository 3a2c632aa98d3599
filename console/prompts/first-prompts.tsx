import { CopyButton } from '../parts/copy-button.tsx'
import { t } from '../text/text.ts'

const FILE = '# templates/team/greet.yaml\nmessages:\n  - role: user\n    content: |-\n      Say hello to {{variables.name}}.'
const REDIS = "redis-cli SET shenma:templates:team:greet \\\n  '{\"userPrompt\": \"Say hello to {{variables.name}}.\"}'"

/** Shows three ways to publish a first prompt, each with a button that copies it. */
export function FirstPrompts () {
  const body = '{"userPrompt": "Say hello to {{variables.name}}."}'
  const http = `curl -X PUT ${location.origin}/api/prompts/team.greet \\\n  -H 'content-type: application/json' \\\n  -d '${body}'`
  const ways = [
    { title: t.asFile, text: FILE, hint: t.asFileHint },
    { title: t.inRedis, text: REDIS, hint: t.inRedisHint },
    { title: t.overHttp, text: http, hint: t.overHttpHint }
  ]
  return (
    <div className='thirds'>
      {ways.map(({ title, text, hint }) => (
        <section key={title} className='panel'>
          <header><h2>{title}</h2><span className='grow' /><CopyButton text={text} /></header>
          <div className='body'><pre className='text'>{text}</pre><p className='hint'>{hint}</p></div>
        </section>
      ))}
    </div>
  )
}
