// The frame around a page that needs nothing else.
import { start } from "/static/shell.js";

start();
