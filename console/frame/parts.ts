import { withTexts } from '../text/text.ts'

export const authorScreens = () => withTexts('author', import('./author-screens.ts'))
export const promptScreen = () => withTexts('author', import('../prompts/prompt-page.tsx'))
export const workScreens = () => withTexts('work', withTexts('sessions', withTexts('usage', import('./work-screens.ts'))))
export const traceScreen = () => withTexts('work', withTexts('sessions', withTexts('usage', import('../sessions/trace-page.tsx'))))
export const approvalsScreen = () => withTexts('work', import('../approvals/approvals-page.tsx'))
export const usageScreen = () => withTexts('usage', import('../usage/usage-page.tsx'))
export const terminalScreen = () => withTexts('work', import('../terminals/terminal-page.tsx'))
