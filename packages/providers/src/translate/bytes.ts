/** Text out of bytes that are held one character each, as readers of streams do. */
export const utf8 = (bytes: string): string => Buffer.from(bytes, 'latin1').toString('utf8');
export const latin1 = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');
