/** The terminator of an OpenAI-shaped stream. */
export const sseDone = 'data: [DONE]\n\n';

/** Frames one JSON payload (or any text) as a server-sent event; line breaks inside become further `data:` lines. */
export function sseFrame(data: string): string {
  return data.includes('\n') || data.includes('\r')
    ? `data: ${data.replace(/\r\n?|\n/g, '\ndata: ')}\n\n`
    : `data: ${data}\n\n`;
}

/** A comment line, which keeps a connection alive and which every client ignores. */
export const sseComment = (text: string): string => `: ${text.replace(/[\r\n]+/g, ' ')}\n\n`;
