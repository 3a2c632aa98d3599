import { chmod, mkdir } from 'node:fs/promises'

/** Modes of the files and folders that the service keeps for itself. What sessions said and did is for nobody else on this machine. */
export const [PRIVATE_FOLDER, PRIVATE_FILE] = [0o700, 0o600]

/**
 * Makes a folder that only this user can enter, and the folders above it that are missing. A folder that is there becomes
 * such a folder.
 */
export async function makePrivateFolder (path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: PRIVATE_FOLDER })
  await chmod(path, PRIVATE_FOLDER)
}
