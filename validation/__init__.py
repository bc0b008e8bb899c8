"""Checks against the real thing: AITER's planner and the GPU.

Modules here may need numpy or torch, which plain use of the package does not; those marked * need
neither.

- the plan: `planner`, `plan_inputs`, `plan_picture`; `kernels`, the attention that runs it
- `staged`: `StagedPlan`, the staged slots over torch tensors, for an attention backend
- the device: `device_gpu` (`TorchGpu`, the stream API carried out; its calls are in `device_calls`
  and `device_copies`), `bench`*, `rows`* and `touch` (what kernels are told, and the kernels),
  `versions`*, `runtime`* with `torch_runtime` and `runtime_library`
- who goes when: `pace`*, `director`* along a `script`*
- litmus: `litmus`*, the programs; `litmus_model`*, what the model says of them; `outcome_scripts`*,
  `litmus_run`, `unseen`*
- what `streamorder validate` runs: `mutants`, `late_upload`, `reproducer`, `plans`, `overhead`,
  `sync_free`, over `publishing`
- `experiment`*, a process each with a time limit; `suite`*, `reports`*, `verdicts`*, `statistics`*
"""
