/**
 * Fails when a type is lost: `node find_any.mjs GENERATED PROGRAM...`.
 *
 * In the generated file `any` may not be written at all, and `unknown` only as the value of an index signature: a
 * field of an answer that this version does not know is `unknown`, since answers are open objects. In the program,
 * which writes neither, no expression may have the type `any`, wherever it comes from.
 */
import ts from "typescript";

const [generated, ...program] = process.argv.slice(2);
const { config } = ts.readConfigFile("tsconfig.json", ts.sys.readFile);
const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ".");
const compilation = ts.createProgram([generated, ...program], options);
const checker = compilation.getTypeChecker();
const found = [];

function report(file, node, what) {
  const { line } = file.getLineAndCharacterOfPosition(node.getStart(file));
  found.push(`${file.fileName}:${line + 1}: ${what}: ${node.parent.getText(file).slice(0, 80)}`);
}

function visitGenerated(file, node) {
  if (node.kind === ts.SyntaxKind.AnyKeyword) report(file, node, "any");
  if (node.kind === ts.SyntaxKind.UnknownKeyword && !ts.isIndexSignatureDeclaration(node.parent)) {
    report(file, node, "unknown");
  }
  ts.forEachChild(node, (child) => visitGenerated(file, child));
}

function visitProgram(file, node) {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node) || ts.isTypeNode(node)) return;
  if (ts.isExpression(node) && checker.getTypeAtLocation(node).flags & ts.TypeFlags.Any) report(file, node, "any");
  ts.forEachChild(node, (child) => visitProgram(file, child));
}

visitGenerated(compilation.getSourceFile(generated), compilation.getSourceFile(generated));
for (const path of program) visitProgram(compilation.getSourceFile(path), compilation.getSourceFile(path));
console.log(found.join("\n"));
process.exitCode = found.length ? 1 : 0;
