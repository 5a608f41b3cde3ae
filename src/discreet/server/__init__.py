"""The curator behind HTTP: who may ask what, answers that leave on a tick, and a page in front."""
