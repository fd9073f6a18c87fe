export default {
  input: "openapi.json",
  output: { path: "cenote", module: { extension: ".js" } },
  plugins: ["@hey-api/client-fetch", "@hey-api/typescript", "@hey-api/sdk"],
};
