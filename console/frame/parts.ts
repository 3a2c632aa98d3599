import { loadTexts, type TextPart } from '../text/text.ts'

/** Loads a part of the console together with the texts that it shows. This happens when the user first opens one of the part's screens. */
async function withTexts<T> (part: TextPart, code: Promise<T>): Promise<T> {
  const [loaded] = await Promise.all([code, loadTexts(part)])
  return loaded
}

export const authorScreens = () => withTexts('author', import('./author-screens.ts'))
export const promptScreen = () => withTexts('author', import('../prompts/prompt-page.tsx'))
export const workScreens = () => withTexts('work', import('./work-screens.ts'))
export const approvalsScreen = () => withTexts('work', import('../approvals/approvals-page.tsx'))
export const terminalScreen = () => withTexts('work', import('../terminals/terminal-page.tsx'))
