/** What only readers of a checkout need, between comments. They are not seen where the documentation is read as files. */
const ofCheckouts = /<!-- checkout -->[\s\S]*?<!-- \/checkout -->/g;
/** What only readers of a deployment need is a comment. */
const ofDeployments = /<!-- dashboard: ([\s\S]*?) -->/g;

/** Rewrites a page of the documentation, which is written for a checkout, for someone who uses a deployment. */
export const forReaders = (text: string): string =>
  text
    .replace(ofCheckouts, '')
    .replace(ofDeployments, '$1')
    .replaceAll('npm run control -- ', 'sotto-control ')
    .replaceAll('npm run sotto -- ', 'sotto ');
