export {
  type FileProblem,
  type FileResult,
  type Rewritten,
  readYaml,
  readYamlAs,
  writeYaml,
  type YamlSource,
} from './yaml.ts';
