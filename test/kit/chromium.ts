import { noteSkip, onPath } from '@sotto/test-servers';
import { type Browser, chromium } from 'playwright-core';

/** The shell first: it opens a page with a fifth of the CPU, because it draws no window around it. */
const installed = onPath('chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome');

/** Whether a browser is installed. If not, the run reports that it skips this. */
export function hasChromium(what: string): boolean {
  if (installed === undefined) noteSkip(what, 'put chromium on the PATH, with Debian `apt-get install chromium`.');
  return installed !== undefined;
}

/** @param wrapped - Returns the program to start for the browser's own. */
export async function launchChromium(
  wrapped: (program: string) => string | Promise<string> = (program) => program,
): Promise<Browser> {
  if (installed === undefined) throw new Error('no browser');
  // A machine without a GPU would draw in software what the GPU process asks for, which costs more than not to ask.
  return chromium.launch({ executablePath: await wrapped(installed), args: ['--no-sandbox', '--disable-gpu'] });
}
